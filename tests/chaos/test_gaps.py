"""Gaps are found in what happened, and compared."""

from __future__ import annotations

from chaos.changes import NODES, PODS, Change
from chaos.gaps import Binds, Gap, Row, is_fine, longest_gap, rows
from chaos.schedulers import KUBE_SCHEDULER, MOORING
from e2e.api import Object


def seen(at: float, key: str, node: str | None = "", kind: str = PODS) -> Change:
    body: Object | None = None if node is None else {"spec": {"nodeName": node} if node else {}}
    return Change(int(at * 10), at, kind, key, body)


def test_the_longest_gap_counts_from_the_failure_on() -> None:
    assert longest_gap([1.0, 9.0, 9.5, 12.5, 13.0], since=10.0, until=13.5) == 2.5
    assert longest_gap([1.0, 9.0], since=10.0, until=13.5) == 3.5
    assert longest_gap([], since=10.0, until=10.0) == 0.0


def test_a_pod_counts_once_as_made_and_once_as_bound() -> None:
    binds = Binds()
    binds.take(seen(1.0, "node", kind=NODES))
    binds.take(seen(1.0, "a"))
    binds.take(seen(2.0, "a", "one"))
    binds.take(seen(3.0, "a", "one"))
    binds.take(seen(4.0, "b"))
    assert (binds.made, binds.bound, binds.waiting) == ([1.0, 4.0], [2.0], 1)
    binds.take(seen(5.0, "b", None))
    assert binds.waiting == 0


def test_medians_decide_and_a_little_noise_is_excused() -> None:
    gaps = [Gap(KUBE_SCHEDULER, "kill", each) for each in (10.0, 12.0, 30.0)]
    gaps += [Gap(MOORING, "kill", each) for each in (11.0, 13.0, 14.0)]
    assert rows(gaps) == [Row("kill", 12.0, 13.0, 30.0, 14.0)]
    assert rows(gaps)[0].is_fine
    assert not Row("kill", 12.0, 14.0, 30.0, 14.0).is_fine


def test_a_failure_that_could_not_be_measured_is_not_fine() -> None:
    gaps = [Gap(program, "kill", 1.0) for program in (KUBE_SCHEDULER, MOORING)]
    assert is_fine(gaps, ["kill"])
    assert not is_fine(gaps, ["kill", "etcd"])
    assert not is_fine([*gaps, Gap(MOORING, "etcd", 1.0)], ["kill", "etcd"])
    assert not is_fine(gaps, [])
