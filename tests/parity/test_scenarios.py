"""Every plugin does what kube-scheduler documents: small clusters, written down as data.

Each runs twice, once evaluated afresh and once with what was kept of the evaluation of a pod like it.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from mooring.model.objects import Pod
from parity.reasons import UNREACHABLE, known_reasons
from parity.scenario import Scenario, read_scenarios
from parity.stage import Outcome, Stage, outcome

SCENARIOS = list(read_scenarios())
MODES = ("afresh", "kept")
REHEARSALS = 2  # the first pod of a kind leaves nothing behind, the second does


def cases() -> list[object]:
    return [
        pytest.param(scenario, mode == "kept", id=f"{file}-{scenario.name}-{mode}".replace(" ", "_"))
        for file, scenario in SCENARIOS
        for mode in MODES
    ]


@pytest.mark.parametrize(("scenario", "kept"), cases())
def test_scenario(scenario: Scenario, kept: bool) -> None:
    stage, expect = Stage(scenario, kept=kept), scenario.expect
    pods = scenario.pending_pods()
    alone = not (expect.victims is not None or expect.gated or expect.order)
    if kept and alone:
        for _ in range(REHEARSALS):
            stage.rehearse(pods[0])
    pods = [stage.bring(pod) for pod in pods]
    if expect.order:
        assert _order(stage) == expect.order
        return
    if not expect.gated or expect.victims is not None:
        found = outcome(stage.schedule())
        _check_place(stage, found)
        _check_wait(stage, found)
    if expect.gated:
        _check_gate(stage, pods[0])


def _check_gate(stage: Stage, pod: Pod) -> None:
    for node in stage.scenario.later_nodes():
        stage.world.create_node(node)
    queued = stage.engine.queue.get(pod.uid)
    assert queued is not None
    assert queued.gating_message == stage.scenario.expect.gated
    assert not stage.schedule()


def _order(stage: Stage) -> tuple[str, ...]:
    """Who gets a place, in turn; until nobody is ready."""
    placed = []
    for _ in stage.scenario.pending:
        bind = outcome(stage.schedule()).bind
        placed += [bind.pod.name] if bind else []
    return tuple(placed)


def _check_place(stage: Stage, found: Outcome) -> None:
    expect = stage.scenario.expect
    if expect.nodes is None and expect.feasible is None and not expect.scores:
        assert found.bind is None
        return
    assert found.bind is not None, found.wait.message if found.wait else "nothing was decided"
    totals = stage.engine.scores[found.bind.pod.key]
    if expect.feasible is not None:
        assert frozenset(totals) == expect.feasible
    if expect.scores and stage.kept:
        assert totals == _totals_afresh(stage.scenario)
    elif expect.scores:
        _check_scores(stage, found.bind.pod.key)
    if expect.nodes is not None:
        best = max(totals.values())
        assert {node for node, total in totals.items() if total == best} == expect.nodes, totals
        assert found.bind.node in expect.nodes


def _check_scores(stage: Stage, key: str) -> None:
    story = stage.engine.story(key)
    assert story is not None
    totals = stage.engine.scores[key]
    assert {each.node: each.total for each in story.best} == totals
    for plugin, wanted in stage.scenario.expect.scores.items():
        weight = stage.weights[plugin]
        given = {each.node: each.parts.get(plugin, 0) // weight for each in story.best}
        assert given == wanted, plugin


def _totals_afresh(scenario: Scenario) -> dict[str, int]:
    stage = Stage(scenario, kept=False)
    pod = stage.bring(scenario.pending_pods()[0])
    stage.schedule()
    return stage.engine.scores[pod.key]


def _check_wait(stage: Stage, found: Outcome) -> None:
    expect = stage.scenario.expect
    if found.bind is not None:
        assert not (expect.message + expect.error)
        assert not expect.victims
        return
    assert found.wait is not None
    if expect.error:
        assert (found.wait.reason, found.wait.message) == ("SchedulerError", expect.error)
        return
    assert found.wait.reason == "Unschedulable"
    if expect.message:
        assert found.wait.message == expect.whole_message(len(stage.scenario.nodes))
    assert found.victims == (expect.victims or frozenset())
    if expect.nominated is not None:
        assert found.wait.nominated == expect.nominated


def test_scenarios_have_names_of_their_own() -> None:
    names = Counter(f"{file}: {scenario.name}" for file, scenario in SCENARIOS)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_scenario_expects_something() -> None:
    idle = [scenario.name for _, scenario in SCENARIOS if scenario.expect == type(scenario.expect)()]
    assert idle == []


def test_there_are_scenarios_enough() -> None:
    assert len(SCENARIOS) >= 150


@pytest.mark.parametrize("reason", sorted(known_reasons() - UNREACHABLE.keys()))
def test_every_reason_is_given_somewhere(reason: str) -> None:
    """A reason is a text with places for names; some scenario expects it."""
    pattern = re.compile(".+".join(map(re.escape, re.split(r"\{\w*\}", reason))))
    texts = [text for _, scenario in SCENARIOS for text in scenario.texts()]
    assert any(pattern.search(text) for text in texts)


def test_no_reason_is_called_unreachable_that_is_not_there() -> None:
    assert UNREACHABLE.keys() <= known_reasons()
