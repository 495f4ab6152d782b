"""What nodes are told of links and of a transfer's share, as they read it (`headrace_core::shares`)."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from headrace.api.policy.fair_share import OnLink, rules_on
from headrace.api.policy.links import Moving, NodeLink, Path, Way
from headrace.client import models as m
from headrace.engine import EngineError, check_links, check_share

NO_LINKS: Final = json.dumps({"links": []})
"""What a node is told that stands behind no link."""


def share_text(document: m.QosDocument, one: Moving) -> str:
    """Return what nodes are told of a transfer's share; nothing where it runs over no link."""
    if not one.path.links:
        return ""
    known = next((of for of in document.classes if of.name == one.qos_class), None)
    return json.dumps(
        {
            "class": one.qos_class,
            "weight": 1,
            "source_links": list(one.path.source),
            "destination_links": list(one.path.destination),
            "guaranteed_bps": min(int(one.guaranteed_bps), m.MAX_RATE_BPS),
            "order": one.order,
            "dscp": known.dscp if known else None,
            "congestion_control": known.congestion_control if known else None,
        }
    )


def node_text(links: Mapping[str, NodeLink]) -> str:
    """Return what a node is told of its links."""
    return json.dumps({"links": [{"name": name, **_link_body(link)} for name, link in links.items()]})


def _link_body(link: NodeLink) -> dict[str, object]:
    body: dict[str, object] = {
        "rate_bps": link.rate_bps,
        "rest_percent": link.rest_percent,
        "classes": [_class_body(one, rule) for one, rule in link.classes.items()],
    }
    return body if link.receive is None else {**body, "receive": _link_body(link.receive)}


def refused_by_nodes(document: m.QosDocument) -> Iterator[tuple[str, str]]:
    """Find what no node would take of a document that is right in itself, by the nodes' own check: where, and what."""
    for link in document.links:
        rules = rules_on(document, link.name)
        told = node_text({link.name: NodeLink(link.rate_bps, link.rest_percent, rules)})
        yield from _refused(f"link `{link.name}`", check_links, told)
    for one in document.classes:
        path = Path(tuple(own.link for own in one.links[:1]))
        share = share_text(document, Moving("", one.name, "", "", path, guaranteed_bps=m.MAX_RATE_BPS))
        yield from _refused(f"class `{one.name}`", check_share, share) if share else ()


def _refused(where: str, check: Callable[[str], None], text: str) -> Iterator[tuple[str, str]]:
    try:
        check(text)
    except EngineError as error:
        yield where, f"nodes refuse this: {error}; correct it"


def _class_body(name: str, rule: OnLink) -> dict[str, object]:
    return {
        "name": name,
        "weight": rule.weight,
        "floor_bps": int(rule.floor_bps),
        "ceiling_bps": None if rule.ceiling_bps is None else int(rule.ceiling_bps),
        "priority": rule.priority,
    }


def rates_of(text: str) -> dict[tuple[str, Way], int | None]:
    """Return what a node is told by such a text: the rate of each link, in each direction."""
    links = json.loads(text)["links"]
    sends: dict[tuple[str, Way], int | None] = {(link["name"], "out"): link["rate_bps"] for link in links}
    return sends | {(link["name"], "in"): link.get("receive", link)["rate_bps"] for link in links}
