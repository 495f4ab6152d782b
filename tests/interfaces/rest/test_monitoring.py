"""A real Prometheus reads the service's figures; every query of the dashboard is answered, and an alert comes."""

import json
import socket
import sqlite3
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http import HTTPStatus
from urllib.parse import urlsplit

import pytest
from tests.servers.headrace import Service, serving
from tests.servers.prometheus import FOLDER, PROGRAMS, Prometheus, watching

PANELS = json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))["panels"]
SILENT = 100
QUIET = {"What is wrong"}
"""Panels that show nothing while all is well."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("monitored"), metrics_listen="127.0.0.1:0") as service:
        yield service


@pytest.fixture(scope="module")
def prometheus(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    assert service.metrics is not None
    with watching(tmp_path_factory.mktemp("prometheus"), urlsplit(service.metrics).netloc) as prometheus:
        yield prometheus


def test_every_query_of_the_dashboard_is_answered(service: Service, prometheus: Prometheus) -> None:
    assert service.admin.run("endpoints", "--json").code == 0
    prometheus.until('rate(headrace_http_request_seconds_count{route="/endpoints"}[5m])')
    for panel in PANELS:
        for target in panel["targets"]:
            found = prometheus.samples(target["expr"].replace("$instance", ".*"))
            assert bool(found) is (panel["title"] not in QUIET), (panel["title"], target["expr"])


def test_silent_connections_keep_no_monitoring_out(service: Service) -> None:
    assert service.metrics is not None
    url = urlsplit(service.metrics)
    with ExitStack() as held:
        for _ in range(SILENT):
            held.enter_context(socket.create_connection((url.hostname or "", url.port or 0)))
        with urllib.request.urlopen(f"http://{url.netloc}/live", timeout=60) as answer:
            assert answer.status == HTTPStatus.OK


def test_each_alert_comes_when_it_should_and_only_then() -> None:
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]):
        done = subprocess.run(
            [PROGRAMS / "promtool", *command], check=False, cwd=FOLDER, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_an_alert_comes_when_the_audit_log_can_not_be_written(service: Service, prometheus: Prometheus) -> None:
    prometheus.until('headrace_ready == 1 and up{job="headrace"} == 1')
    assert prometheus.ask("alerts")["alerts"] == []
    with closing(sqlite3.connect(service.folder / "data" / "headrace.sqlite")) as store, store:
        store.execute("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END")
    assert service.admin.prove("invite", "eve", "--role", "viewer", "--json").code != 0
    prometheus.until('ALERTS{alertname="HeadraceNotReady", alertstate="firing"}')
    firing = {alert["labels"]["alertname"]: alert for alert in prometheus.ask("alerts")["alerts"]}
    assert firing.keys() == {"HeadraceNotReady", "HeadraceAuditUnwritable"}
    assert "can't take work" in firing["HeadraceNotReady"]["annotations"]["summary"]
