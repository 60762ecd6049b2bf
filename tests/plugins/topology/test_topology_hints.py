"""Which events give pods another try that spreading or affinity rejected."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.api.events import NODE, POD, Action, Hint
from mooring.model.objects import Node, Pod
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread
from mooring.testing import node, pod
from mooring.testing.builders import NodeBuilder, PodBuilder
from plugins.topology.stage import ZONE, Stage

FOO, BAR = {"foo": ""}, {"bar": ""}


@pytest.mark.parametrize(
    ("plugin", "events"),
    [
        (
            PodTopologySpread,
            {
                POD: Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION,
                NODE: Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
            },
        ),
        (
            InterPodAffinity,
            {
                POD: Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL,
                NODE: Action.ADD | Action.UPDATE_NODE_LABEL,
            },
        ),
    ],
)
def test_events(plugin: Any, events: dict[str, Action]) -> None:
    made = Stage(plugin, [], kept=False).plugin
    assert {each.resource: each.action for each in made.events()} == events


def queues(plugin: Any, waiting: PodBuilder, old: Any, new: Any, *there: Any) -> bool:
    """Whether a change from one object to the other (None: it is not there) wakes a pod."""
    stage = Stage(plugin, there, kept=False)
    built: list[Node | Pod | None] = [each.build() if each is not None else None for each in (old, new)]
    resource = NODE if isinstance(built[0] or built[1], Node) else POD
    (interest,) = [each for each in stage.plugin.events() if each.resource == resource]
    return bool(interest.hint(waiting.build(), *built) is Hint.QUEUE)


def labelled(name: str, namespace: str = "default", on: str = "n", **labels: str) -> PodBuilder:
    made = pod(name, namespace)
    for key, value in labels.items():
        made.label(key, value)
    return made.running_on(on) if on else made


def having(zone: str = "", **labels: str) -> NodeBuilder:
    made = node("n")
    for key, value in labels.items():
        made.label(key, value)
    return made.zone(zone) if zone else made


# spreading


def spreading(**fields: Any) -> PodBuilder:
    return labelled("w", on="", foo="").spread(ZONE, FOO, **fields)


HIT, MISS = labelled("other", foo=""), labelled("other", bar="")
HONORS = {"nodeTaintsPolicy": "Honor"}


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(spreading(), None, HIT, True, id="selected-pod-came"),
        pytest.param(spreading(), None, MISS, False, id="other-pod-came"),
        pytest.param(spreading(), HIT, None, True, id="selected-pod-went"),
        pytest.param(spreading(), MISS, None, False, id="other-pod-went"),
        pytest.param(spreading(), MISS, HIT, True, id="selected-now"),
        pytest.param(spreading(), HIT, MISS, True, id="no-longer-selected"),
        pytest.param(spreading(), HIT, labelled("other", foo="", x=""), False, id="selected-as-before"),
        pytest.param(spreading(), None, labelled("other", "elsewhere", foo=""), False, id="other-namespace"),
        pytest.param(spreading(), labelled("other", on="", foo=""), None, False, id="had-no-place"),
        pytest.param(
            spreading(), labelled("other", on="", foo="").nominated_to("n"), None, True, id="nominated"
        ),
        pytest.param(
            spreading(),
            labelled("w", on="", bar=""),
            labelled("w", on="", foo=""),
            True,
            id="itself-selected",
        ),
        pytest.param(
            spreading(), labelled("w", on=""), labelled("w", on="", x=""), False, id="itself-as-before"
        ),
        pytest.param(
            spreading(**HONORS),
            labelled("w", on=""),
            labelled("w", on="").tolerates("k"),
            True,
            id="tolerates",
        ),
        pytest.param(
            spreading(), labelled("w", on=""), labelled("w", on="").tolerates("k"), False, id="taints-ignored"
        ),
        pytest.param(
            spreading(**HONORS),
            labelled("other"),
            labelled("other").tolerates("k"),
            False,
            id="another-tolerates",
        ),
        pytest.param(spreading(soft=True), HIT, None, False, id="soft-ones-reject-nothing"),
    ],
)
def test_spreading_and_pods(waiting: PodBuilder, old: Any, new: Any, expected: bool) -> None:
    assert queues(PodTopologySpread, waiting, old, new) is expected


BOTH = spreading().spread("rack", FOO)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(spreading(), None, having("a"), True, id="came"),
        pytest.param(spreading(), None, having(), False, id="came-without-the-key"),
        pytest.param(BOTH, None, having("a"), False, id="came-with-one-of-two"),
        pytest.param(spreading(), having("a"), None, True, id="went"),
        pytest.param(spreading(), having(), None, False, id="went-without-the-key"),
        pytest.param(spreading(), having(), having("a"), True, id="got-the-key"),
        pytest.param(spreading(), having("a"), having(), True, id="lost-the-key"),
        pytest.param(spreading(), having("a"), having("b"), True, id="moved"),
        pytest.param(spreading(), having("a"), having("a", x=""), False, id="other-label"),
        pytest.param(BOTH, having("a"), having("b"), False, id="moved-with-one-of-two"),
        pytest.param(spreading(), having("a").taint("k"), having("a"), True, id="other-taints"),
        pytest.param(spreading(), having().taint("k"), having(), False, id="other-taints-without-the-key"),
    ],
)
def test_spreading_and_nodes(waiting: PodBuilder, old: Any, new: Any, expected: bool) -> None:
    assert queues(PodTopologySpread, waiting, old, new) is expected


# affinity


def near(*selectors: dict[str, str]) -> PodBuilder:
    made = labelled("w", on="")
    for selector in selectors:
        made.near(ZONE, selector)
    return made


def apart(*selectors: dict[str, str]) -> PodBuilder:
    made = labelled("w", on="", me="")
    for selector in selectors:
        made.apart(ZONE, selector)
    return made


ALONE = labelled("w", on="", me="")
AGAINST = labelled("other").apart(ZONE, {"me": ""})


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(near(FOO), None, HIT, True, id="friend-came"),
        pytest.param(near(FOO), None, MISS, False, id="stranger-came"),
        pytest.param(near(FOO, BAR), None, HIT, False, id="friend-by-one-of-two-terms"),
        pytest.param(near(FOO, BAR), None, labelled("o", foo="", bar=""), True, id="friend-by-both"),
        pytest.param(near(FOO), MISS, HIT, True, id="friend-now"),
        pytest.param(near(FOO), HIT, labelled("other", foo="", x=""), False, id="friend-as-before"),
        pytest.param(near(FOO), HIT, None, False, id="friend-went"),
        pytest.param(apart(FOO), HIT, None, True, id="foe-went"),
        pytest.param(apart(FOO), MISS, None, False, id="stranger-went"),
        pytest.param(apart(FOO), HIT, MISS, True, id="foe-no-longer"),
        pytest.param(apart(FOO, BAR), HIT, None, True, id="foe-by-one-of-two-terms"),
        pytest.param(apart(FOO), None, HIT, False, id="foe-came"),
        pytest.param(ALONE, AGAINST, None, True, id="one-that-kept-it-away-went"),
        pytest.param(ALONE, labelled("other").apart(ZONE, FOO), None, False, id="kept-others-away"),
        pytest.param(ALONE, None, AGAINST, False, id="one-that-keeps-it-away-came"),
        pytest.param(near(FOO), labelled("w", on=""), labelled("w", on="", x=""), True, id="itself"),
        pytest.param(near(FOO), None, labelled("other", "elsewhere", foo=""), False, id="other-namespace"),
    ],
)
def test_affinity_and_pods(waiting: PodBuilder, old: Any, new: Any, expected: bool) -> None:
    assert queues(InterPodAffinity, waiting, old, new) is expected


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(near(FOO), None, having("a"), True, id="near-came"),
        pytest.param(near(FOO), None, having(), False, id="near-came-without-the-key"),
        pytest.param(near(FOO), having(), having("a"), True, id="near-got-the-key"),
        pytest.param(near(FOO), having("a"), having("b"), True, id="near-moved"),
        pytest.param(near(FOO), having("a"), having(), False, id="near-lost-the-key"),
        pytest.param(near(FOO), having("a"), having("a", x=""), False, id="near-other-label"),
        pytest.param(apart(FOO), None, having(), True, id="apart-came"),
        pytest.param(apart(FOO), having("a"), having(), True, id="apart-lost-the-key"),
        pytest.param(apart(FOO), having("a"), having("b"), True, id="apart-moved"),
        pytest.param(apart(FOO), having("a"), having("a", x=""), False, id="apart-other-label"),
        pytest.param(ALONE, None, having(), True, id="kept-away-came"),
        pytest.param(ALONE, having("a"), having("b"), True, id="kept-away-moved"),
        pytest.param(ALONE, having("a"), having("a", x=""), False, id="kept-away-other-label"),
        pytest.param(apart(FOO).prefers_near("x", BAR), None, having(), True, id="with-preferences-came"),
        pytest.param(
            labelled("w", on="", me="").prefers_near("x", BAR),
            None,
            having(),
            True,
            id="only-preferences-came",
        ),
    ],
)
def test_affinity_and_nodes(waiting: PodBuilder, old: Any, new: Any, expected: bool) -> None:
    there = (node("m").zone("a"), labelled("other", on="m").apart(ZONE, {"me": ""}))
    assert queues(InterPodAffinity, waiting, old, new, *there) is expected
