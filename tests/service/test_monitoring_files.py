"""What deploy/monitoring and its page say is of figures that the service has."""

import json
import re
from collections.abc import Iterator

import pytest
from tests.faults.run import REPOSITORY

from headrace.api.access.health import NOTICES
from headrace.api.access.metrics import FIGURES
from headrace.client import models as m

FOLDER = REPOSITORY / "deploy" / "monitoring"
_NAME = re.compile(r"\bheadrace_\w+")
_PARTS = ("_bucket", "_count", "_sum")


def asked() -> Iterator[tuple[str, str]]:
    """Each expression that is asked of Prometheus, with where it stands."""
    for expression in re.findall(r"^ +expr: (.*)$", (FOLDER / "alerts.yml").read_text(encoding="utf-8"), re.MULTILINE):
        yield "alerts.yml", expression
    for panel in json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


@pytest.mark.parametrize(("where", "expression"), list(asked()))
def test_alerts_and_dashboard_ask_for_figures_and_labels_that_there_are(where: str, expression: str) -> None:
    for name in _NAME.findall(expression):
        whole = name if name in FIGURES else next(name.removesuffix(part) for part in _PARTS if name.endswith(part))
        labels = {*FIGURES[whole].labels, "instance", "job", "le"}
        for used in re.findall(rf"{name}\{{([^}}]*)\}}", expression):
            assert set(re.findall(r"(\w+) ?(?:=~|!~|!=|=)", used)) <= labels, where


def test_every_alert_has_a_rule_test_that_it_comes_and_one_that_it_does_not() -> None:
    alerts = re.findall(r"- alert: (\w+)", (FOLDER / "alerts.yml").read_text(encoding="utf-8"))
    tests = (FOLDER / "alerts.test.yml").read_text(encoding="utf-8").split("  - interval:")[1:]
    assert [re.findall(r"alertname: (\w+)", one) for one in tests] == [[alert] for alert in alerts for _ in range(2)]
    assert ["exp_alerts: []" in one for one in tests] == [False, True] * len(alerts)


def test_every_cause_that_health_can_name_brings_an_alert_and_what_degrades_nothing_only_a_notice() -> None:
    rules = re.findall(
        r"- alert: (\w+)\n +expr: headrace_health_cause\{code(=~|!~|=)\"([^\"]*)\"\}",
        (FOLDER / "alerts.yml").read_text(encoding="utf-8"),
    )
    elsewhere = {m.HealthCode.WORK_FAILING: ["HeadraceWorkFails"]}  # has figures of its own
    for code in m.HealthCode:
        brought = [
            alert for alert, sign, codes in rules if (code.value in codes.split("|")) is not (sign == "!~")
        ] + elsewhere.get(code, [])
        assert len(brought) == 1, (code, brought)
        assert (brought == ["HeadraceNotice"]) is (code in NOTICES), code


def test_the_page_lists_every_figure_with_its_labels_and_meaning_and_no_other() -> None:
    page = (REPOSITORY / "docs" / "operations" / "monitoring.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `headrace_")]
    for name, figure in FIGURES.items():
        labels = ", ".join(f"`{label}`" for label in figure.labels)
        rows.remove(f"| `{name}` | {figure.kind} | {labels} | {figure.meaning} |")
    assert rows == []
