"""A dry run: each name that a plan replaces or deletes at its destination can be read before it runs."""

import pytest
from tests.servers.site import Site
from tests.service.refusals import refused

from headrace.client import models as m

pytestmark = pytest.mark.anyio


def lay_out(site: Site) -> None:
    """Three files that differ at the destination, and three names that only it has."""
    for root, content in ((site.lab, "newer"), (site.archive, "old")):
        (root / "set").mkdir()
        for name in ("a", "b", "c"):
            (root / "set" / name).write_text(content)
    (site.archive / "set" / "left").mkdir()
    (site.archive / "set" / "left" / "x\u202e").write_text("more")
    (site.archive / "set" / "link").symlink_to("a")


async def planned(site: Site) -> m.Plan:
    lay_out(site)
    return await site.ada.plan("lab:/set", "archive:/set", "sync", on_conflict="overwrite", delete_extraneous=True)


async def test_each_name_that_is_replaced_or_deleted_is_listed_with_what_it_was(site: Site) -> None:
    plan = await planned(site)
    found = await site.ada.port.losses(plan.id)
    assert [(one.how, one.path, one.kind, one.bytes) for one in found if one.kind != "dir"] == [
        ("replaced", "a", "file", 3), ("replaced", "b", "file", 3), ("replaced", "c", "file", 3),
        ("deleted", "left/x\u202e", "file", 4), ("deleted", "link", "symlink", 1),
    ]  # fmt: skip
    assert ("deleted", "left", "dir") in [(one.how, one.path, one.kind) for one in found]
    assert found.next is None
    assert found[0].modified is not None
    assert found[0].modified.timestamp() == int((site.archive / "set" / "a").stat().st_mtime)
    survey = plan.survey
    assert survey is not None
    assert (survey.overwrites, survey.deletes) == (3, len(found) - 3)
    assert (site.archive / "set" / "a").read_text() == "old", "nothing was moved"


async def test_it_is_read_page_by_page_across_both_lists(site: Site) -> None:
    plan, port = await planned(site), site.ada.port
    whole = await port.losses(plan.id)
    read: list[m.Loss] = []
    after = None
    while True:
        page = await port.losses(plan.id, after=after, limit=2)
        assert len(page) <= 2
        read += page.items
        after = page.next
        if after is None:
            break
    assert read == whole.items
    deleted = await port.losses(plan.id, how="deleted")
    assert deleted.items == [one for one in whole if one.how == "deleted"]
    first = await port.losses(plan.id, how="deleted", limit=1)
    assert (await port.losses(plan.id, how="deleted", after=first.next)).items == deleted.items[1:]
    for made_up in ("x", "1.e0", "3.b0", f"1.b{10**18}"):
        with refused("invalid_request"):
            await port.losses(plan.id, after=made_up)
    with refused("invalid_request"):
        await port.losses(plan.id, how="deleted", after="1.b0")


async def test_a_plan_that_harms_nothing_has_none_and_one_that_listed_nothing_says_so(site: Site) -> None:
    lay_out(site)
    plain = await site.ada.plan("lab:/set", "archive:/elsewhere")
    assert (await site.ada.port.losses(plain.id)).items == []
    failed = await site.ada.plan("lab:/nowhere", "archive:/elsewhere")
    with refused("plan_not_ready"):
        await site.ada.port.losses(failed.id)


async def test_the_sources_that_a_move_deletes_are_counted_beside_the_lists(site: Site) -> None:
    lay_out(site)
    plan = await site.ada.plan("lab:/set", "archive:/elsewhere", "move")
    found = await site.ada.port.losses(plan.id)
    assert (found.items, found.moved) == ([], 3)
    assert (await site.ada.port.losses(plan.id, how="deleted")).moved == 3
    assert (await site.ada.port.losses(plan.id, how="replaced")).moved == 0
    copied = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    assert (await site.ada.port.losses(copied.id)).moved == 0


async def test_only_who_may_see_the_plan_reads_it_and_no_assistant_where_names_are_withheld(site: Site) -> None:
    plan = await planned(site)
    eve = await site.person("eve", "requester")
    with refused("unknown_plan"):
        await eve.port.losses(plan.id)
    _, assistant = await site.ada.token("transfer:read", "transfer:plan", agent="helper")
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/set", on_conflict="overwrite")
    own = await assistant.create_plan(m.PlanRequest(intent=intent))
    await assistant.plan(own.id, wait_s=20)
    assert len(await assistant.losses(own.id)) == 3
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"names": "restricted"}))
    with refused("names_withheld"):
        await assistant.losses(own.id)
    assert len(await site.ada.port.losses(own.id)) == 3
