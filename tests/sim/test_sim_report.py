from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mooring.sim.report import render, write_report
from mooring.sim.report.wording import amount, duration, percent, size
from mooring.sim.result import PendingPod, Result, Summary
from mooring.sim.simulation import Simulation
from mooring.sim.usage import NodeUse, Sample
from mooring.sim.world.event_log import Recorded

from .conftest import read
from .first_fit import FirstFit

VOID = {"meta", "line", "br"}
EVIL = '<script>alert("x")</script>'


class Balanced(HTMLParser):
    """Fails on an element that is closed out of order; collects text and addresses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def result(**fields: object) -> Result:
    empty: dict[str, object] = {
        "placements": {},
        "pending": {},
        "evicted": (),
        "patches": {},
        "summary": Summary(nodes=0, pods=0, bound=0, pending=0, evicted=0, end_time_s=0.0),
    }
    return Result(**{**empty, **fields})  # type: ignore[arg-type]


def uses(count: int, cpu: int = 4000) -> tuple[NodeUse, ...]:
    return tuple(
        NodeUse(f"n-{index}", {}, {"cpu": cpu, "memory": 1 << 30, "pods": 110}, {"cpu": 1000}, {"cpu": 2000})
        for index in range(count)
    )


def test_the_page_is_one_sound_file(tmp_path: Path) -> None:
    text = """
        {apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: {cpu: 2, nvidia.com/gpu: 4}}}
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: a, annotations: {sim.mooring.io/runs-for: 90s}}
        ---
        {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {nodeSelector: {no: where}}}
    """
    path = write_report(Simulation(FirstFit(), read(text)).run(), tmp_path / "made" / "here")
    assert path == tmp_path / "made" / "here" / "index.html"
    page = path.read_text(encoding="utf-8")
    found = Balanced(page)
    assert found.addresses == []
    assert "http" not in page
    words = " ".join(found.words)
    for expected in (
        "1m 30s",
        "nvidia.com/gpu",
        "default/b",
        "0/1 nodes are available.",
        "FirstFit",
        "Utilisation",
    ):
        assert expected in words


def test_an_empty_run_has_a_page() -> None:
    assert "There are none." in "".join(Balanced(render(result())).words)


def test_what_users_wrote_is_escaped() -> None:
    page = render(
        result(
            placements={EVIL: EVIL},
            pending={EVIL: PendingPod(EVIL, (EVIL,), EVIL)},
            evicted=(EVIL,),
            nodes=(NodeUse(EVIL, {"topology.kubernetes.io/zone": EVIL}, {"cpu": 1, EVIL: 1}),),
            samples=(Sample(0.0, {"cpu": 1}, {"cpu": 1, EVIL: 1}, 1), Sample(5.0, {}, {}, 0)),
            events=(Recorded(0.0, "Warning", EVIL, "", "Pod", EVIL, EVIL),),
        )
    )
    Balanced(page)
    assert "<script" not in page


def test_large_groups_come_first_and_folded() -> None:
    nodes = (*uses(3, cpu=9000), *uses(200))
    page = render(result(nodes=nodes))
    Balanced(page)
    folds = re.findall(r'<details class="group"( open)?>', page)
    assert folds == ["", " open"]
    assert page.index("200 nodes") < page.index("3 nodes")
    assert page.count("--full:") == 200


def test_pending_pods_are_grouped_by_reason() -> None:
    pending = {f"default/p{index}": PendingPod("no room" if index else "no zone") for index in range(5)}
    page = render(result(pending=pending))
    assert page.index("no room") < page.index("no zone")
    assert page.count("no room") == 1


def test_long_lists_are_cut() -> None:
    pending = {f"default/p{index}": PendingPod("no room") for index in range(1000)}
    assert "and 700 more" in render(result(pending=pending))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, "0s"), (1.5, "1.5s"), (59.999, "60s"), (60.0, "1m"), (285.0, "4m 45s"), (90061.0, "1d 1h 1m 1s")],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cpu", 7600, "7.6"),
        ("cpu", 12_000_000, "12,000"),
        ("memory", 30 << 30, "30 GiB"),
        ("memory", 0, "0 B"),
        ("hugepages-2Mi", 4 << 20, "4 MiB"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_amounts(name: str, value: int, expected: str) -> None:
    assert amount(name, value) == expected


@pytest.mark.parametrize(("part", "expected"), [(0.0, "0%"), (0.001, "0.1%"), (0.5, "50%"), (1.0, "100%")])
def test_percent(part: float, expected: str) -> None:
    assert percent(part) == expected


def test_size_in_words() -> None:
    assert size({"cpu": 4000, "memory": 1 << 30, "pods": 9, "x/gpu": 2}) == "4 CPU, 1 GiB, 2 x/gpu"
