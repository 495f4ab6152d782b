"""What a benchmark keeps of its runs: data, tables and plots."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from benchmarks.cases import LARGE, MATRIX, SMALL, Case, Line
from benchmarks.machine import machine, missing
from benchmarks.measure import Run
from benchmarks.results import Result, keep, tables

from headrace.engine.plots import Panel, drawn, size

PATH = "path of 50 ms"


def result(peer: str, *seconds: float, case: Case = LARGE, path: str = PATH, note: str = "") -> Result:
    runs = [Run(wall, 1.0, 0.5, 64 << 20, 32 << 20, (1.0, 2.0)) for wall in seconds]
    return Result("memory", path, case, peer, runs, note)


def test_a_table_says_how_much_faster_headrace_is_by_medians_and_how_far_runs_differ() -> None:
    text = tables([result("headrace", 1, 2, 9), result("rsync daemon", 4, 3, 5)])
    assert "| headrace | 4.29 Gb/s (0.95-8.59) | 3 | 1.00 s/GiB / 0.50 s/GiB | 64 / 32 MiB |  |" in text
    assert (
        "| rsync daemon | 2.15 Gb/s (1.72-2.86) | 3 | 1.00 s/GiB / 0.50 s/GiB | 64 / 32 MiB | 2.00 x as fast |" in text
    )


def test_a_program_that_could_not_be_measured_is_in_the_table_with_the_reason() -> None:
    text = tables([result("headrace", 1), result("rclone webdav", note="not measured: rclone is not installed")])
    assert "| rclone webdav | not measured: rclone is not installed | 0 | | | |" in text
    assert missing(["sh", "no-such-program"]) == ["no-such-program"]


def test_what_is_measured_again_replaces_the_table_it_is_in_and_nothing_else(tmp_path: Path) -> None:
    keep(tmp_path, machine(), [result("headrace", 1), result("iperf3", 1), result("headrace", 7, case=SMALL)])
    keep(tmp_path, machine(), [result("headrace", 2)])
    kept = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))["results"]
    found = {(row["case"], row["program"]): [run["seconds"] for run in row["runs"]] for row in kept}
    assert found == {("small", "headrace"): [7], ("large", "headrace"): [2]}
    page = (tmp_path / "peers.md").read_text(encoding="utf-8")
    assert "### 10,000 x 1 KiB, path of 50 ms, memory" in page
    assert "processor" in page
    assert ET.parse(tmp_path / "peers.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("50", Line(50)),
        ("50:0.1%", Line(50, 0.1)),
        ("100:1Gb/s", Line(100, 0, "1Gb/s")),
        ("0:0.1%:1Gb/s", Line(0, 0.1, "1Gb/s")),
    ],
)
def test_a_path_is_read_as_it_is_written(text: str, line: Line) -> None:
    assert Line.read(text) == line


def test_a_path_becomes_a_host_of_a_lab() -> None:
    assert Line(50, 0.1, "1Gb/s").host == "far:rtt=50ms,loss=0.1%,rate=1Gb/s"
    assert {line.round_trip_ms for _, line, _ in MATRIX} == {0, 50, 100}


def test_work_has_the_size_it_says(tmp_path: Path) -> None:
    SMALL.lay_out(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (len(files), sum(path.stat().st_size for path in files)) == (SMALL.files, SMALL.size_bytes)


def test_a_plot_draws_every_line_inside_its_frame_and_says_what_each_is() -> None:
    panel = Panel(
        "Gb/s", {"one <1>": [(1024, 0.001), (1 << 30, 9.0)], "two": [(1024, 0.01)]}, "size", powers_of_two=True
    )
    root = ET.fromstring(drawn([panel]))  # noqa: S314 - our own
    lines = [element.attrib["points"] for element in root.iter() if element.tag.endswith("polyline")]
    ends = [tuple(float(part) for part in point.split(",")) for point in lines[0].split()]
    assert ends == [(56.0, 250.0), (610.0, 30.0)]
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"one <1>", "two", "1 KiB", "1 GiB"} <= set(texts)
    assert [size(count) for count in (512, 1024, 1 << 21, 1 << 31)] == ["512 B", "1 KiB", "2 MiB", "2 GiB"]
