"""InterPodAffinity: near some pods and away from others, by demand and by preference."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.testing import pod
from mooring.testing.builders import PodBuilder
from plugins.topology.stage import NEVER, NOT_NOW, PASS, REGION, Stage, nodes, running, thing

S1, S2 = {"app": "s1"}, {"app": "s2"}
CHINA, INDIA = {REGION: "China"}, {REGION: "India"}
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def labelled(name: str, labels: dict[str, str] | None = None, namespace: str = "default") -> PodBuilder:
    made = pod(name, namespace)
    for key, value in (labels or {}).items():
        made.label(key, value)
    return made


def stage(kept: bool, *things: Any, **args: Any) -> Stage:
    return Stage(InterPodAffinity, things, kept=kept, args=args)


def scores(kept: bool, wanted: Any, *things: Any, **args: Any) -> list[int]:
    return list(stage(kept, *things, **args).scores(wanted).values())


def answers(kept: bool, wanted: Any, *things: Any) -> list[str]:
    return stage(kept, *things).answers(wanted)


def preferring(name: str) -> PodBuilder:
    return pod(name).prefers_near(REGION, S1, weight=5)


# score


@pytest.mark.parametrize(
    ("regions", "counts", "expected"),
    [
        pytest.param((CHINA, INDIA, {"az": "1"}), {"n0": 1}, [100, 0, 0], id="P1"),
        pytest.param((CHINA, CHINA, INDIA), {"n0": 1}, [100, 100, 0], id="P2"),
        pytest.param((CHINA, CHINA, INDIA), {"n0": 3, "n1": 1, "n2": 2}, [100, 100, 0], id="P3"),
        pytest.param((CHINA, CHINA, CHINA), {"n0": 1}, [0, 0, 0], id="P9"),
    ],
)
def test_preferred_affinity(
    kept: bool, regions: tuple[dict[str, str], ...], counts: dict[str, int], expected: list[int]
) -> None:
    places = nodes(**{f"n{number}": labels for number, labels in enumerate(regions)})
    assert scores(kept, preferring, *places, *running(counts, app="s1")) == expected


def test_P4_two_terms(kept: bool) -> None:
    def wanted(name: str) -> PodBuilder:
        return pod(name).prefers_near(REGION, S1, weight=8).prefers_near("az", S2, weight=2)

    places = nodes(n0={"az": "1"}, n1={"az": "1"} | CHINA, n2={"az": "2"})
    pods = [*running({"n1": 1}, app="s1"), *running({"n0": 1}, app="s2")]
    assert scores(kept, wanted, *places, *pods) == [20, 100, 0]


def plain(name: str) -> PodBuilder:
    return labelled(name, S1)


def test_P5_placed_pods_prefer_the_pod(kept: bool) -> None:
    places = nodes(n0=CHINA, n1=INDIA, n2={"az": "1"})
    there = pod("there").prefers_near(REGION, S1, weight=5).running_on("n1")
    other = pod("other").prefers_near(REGION, S2, weight=9).running_on("n0")
    assert scores(kept, plain, *places, there, other) == [0, 100, 0]


@pytest.mark.parametrize(
    ("weight", "expected"), [pytest.param(1, [100, 100, 0], id="P6"), pytest.param(0, [0, 0, 0], id="off")]
)
def test_placed_pods_require_the_pod(kept: bool, weight: int, expected: list[int]) -> None:
    places = nodes(n0=CHINA, n1=CHINA, n2=INDIA)
    there = pod("there").near(REGION, S1).running_on("n0")
    assert scores(kept, plain, *places, there, hardPodAffinityWeight=weight) == expected


def test_P7_preferred_anti_affinity(kept: bool) -> None:
    def wanted(name: str) -> PodBuilder:
        return pod(name).prefers_apart("az", S1, weight=5)

    places = nodes(n0={"az": "1"}, n1={"az": "2"})
    assert scores(kept, wanted, *places, *running({"n0": 1}, app="s1")) == [0, 100]


def test_P8_placed_pods_would_rather_be_apart(kept: bool) -> None:
    there = pod("there").prefers_apart("az", S1, weight=5).running_on("n0")
    assert scores(kept, plain, *nodes(n0={"az": "1"}, n1={"az": "2"}), there) == [0, 100]


def test_P10_terms_of_placed_pods_ignored(kept: bool) -> None:
    there = pod("there").prefers_apart("az", S1, weight=5).running_on("n0")
    things = (*nodes(n0={"az": "1"}, n1={"az": "2"}), there)
    asked = stage(kept, *things, ignorePreferredTermsOfExistingPods=True, hardPodAffinityWeight=0)
    assert not asked.concerned(plain)
    assert asked.scores(plain) == {"n0": 0, "n1": 0}


def test_own_terms_bring_required_ones_of_placed_pods_back(kept: bool) -> None:
    """With `ignorePreferredTermsOfExistingPods`, who has no preferences is not scored at all."""
    there = pod("there").near("az", S1).running_on("n0")
    things = (*nodes(n0={"az": "1"}, n1={"az": "2"}), there)

    def choosy(name: str) -> PodBuilder:
        return plain(name).prefers_near("az", S2)

    assert scores(kept, plain, *things, ignorePreferredTermsOfExistingPods=True) == [0, 0]
    assert scores(kept, choosy, *things, ignorePreferredTermsOfExistingPods=True) == [100, 0]


# filter


def test_P11_required_affinity(kept: bool) -> None:
    asked = stage(kept, *nodes(n0=CHINA, n1=CHINA, n2=INDIA), *running({"n0": 1}, app="s1"))
    assert asked.answers(lambda name: pod(name).near(REGION, S1)) == [PASS, PASS, NEVER]
    assert asked.reasons(lambda name: pod(name).near(REGION, S1)) == ["", "", AFFINITY]


def test_P12_the_first_of_a_group(kept: bool) -> None:
    assert answers(kept, lambda name: plain(name).near(REGION, S1), *nodes(n0=CHINA, n1={})) == [PASS, NEVER]


def test_P13_nobody_to_be_near_to(kept: bool) -> None:
    assert answers(kept, lambda name: plain(name).near(REGION, S2), *nodes(n0=CHINA, n1={})) == [NEVER, NEVER]


def test_P14_every_term_by_the_same_pod(kept: bool) -> None:
    def wanted(name: str) -> PodBuilder:
        return pod(name).near(REGION, S1).near(REGION, {"tier": "x"})

    things = (*nodes(n0=CHINA), *running({"n0": 1}, app="s1"), *running({"n0": 1}, tier="x"))
    assert answers(kept, wanted, *things) == [NEVER]
    assert answers(kept, wanted, *things, *running({"n0": 1}, app="s1", tier="x")) == [PASS]


def test_P15_required_anti_affinity(kept: bool) -> None:
    asked = stage(kept, *nodes(n0=CHINA, n1=CHINA, n2=INDIA), *running({"n1": 1}, app="s1"))
    assert asked.answers(lambda name: pod(name).apart(REGION, S1)) == [NOT_NOW, NOT_NOW, PASS]
    assert asked.reasons(lambda name: pod(name).apart(REGION, S1)) == [ANTI_AFFINITY, ANTI_AFFINITY, ""]


def test_P16_anti_affinity_without_the_key(kept: bool) -> None:
    things = (*nodes(n0={}, n1=CHINA), *running({"n0": 1}, app="s1"))
    assert answers(kept, lambda name: pod(name).apart(REGION, S1), *things) == [PASS, PASS]


def test_P17_placed_pods_keep_it_away(kept: bool) -> None:
    there = pod("there").apart(REGION, S1).running_on("n0")
    asked = stage(kept, *nodes(n0=CHINA, n1=CHINA, n2=INDIA), there)
    assert asked.answers(plain) == [NOT_NOW, NOT_NOW, PASS]
    assert asked.reasons(plain) == [EXISTING, EXISTING, ""]


def test_P18_affinity_is_asked_first(kept: bool) -> None:
    there = pod("there").apart(REGION, S1).running_on("n0")
    asked = stage(kept, *nodes(n0=CHINA), there)
    assert asked.reasons(lambda name: plain(name).near(REGION, S2)) == [AFFINITY]
    assert asked.answers(lambda name: plain(name).near(REGION, S2)) == [NEVER]


def test_terminating_pods_count(kept: bool) -> None:
    leaving = [each.terminating() for each in running({"n0": 1}, app="s1")]
    assert answers(kept, lambda name: pod(name).apart(REGION, S1), *nodes(n0=CHINA, n1=INDIA), *leaving) == [
        NOT_NOW,
        PASS,
    ]


# namespaces

TEAM = {"namespaceSelector": {"matchLabels": {"team": "x"}}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [PASS, PASS, PASS], id="its-own"),
        pytest.param({"namespaces": ["b"]}, [PASS, NOT_NOW, PASS], id="by-name"),
        pytest.param(TEAM, [NOT_NOW, PASS, PASS], id="by-label"),
        pytest.param(TEAM | {"namespaces": ["b"]}, [NOT_NOW, NOT_NOW, PASS], id="by-either"),
        pytest.param({"namespaceSelector": {}}, [NOT_NOW, NOT_NOW, NOT_NOW], id="every"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "c"}}},
            [PASS, PASS, NOT_NOW],
            id="by-the-label-every-namespace-has",
        ),
        pytest.param(
            {
                "namespaceSelector": {
                    "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]
                }
            },
            [PASS, NOT_NOW, NOT_NOW],
            id="not-in",
        ),
    ],
)
def test_namespaces(kept: bool, fields: dict[str, Any], expected: list[str]) -> None:
    """One pod in each of three namespaces; the one asked about is in a fourth."""
    spaces = [
        thing("Namespace", "a", namespace="", team="x"),
        thing("Namespace", "b", namespace="", team="y"),
        thing("Namespace", "c", namespace=""),
    ]
    places = nodes(n0={"az": "0"}, n1={"az": "1"}, n2={"az": "2"})
    others = [labelled(f"p{n}", S1, space).running_on(f"n{n}") for n, space in enumerate("abc")]
    assert (
        answers(kept, lambda name: pod(name).apart("az", S1, **fields), *spaces, *places, *others) == expected
    )


@pytest.mark.parametrize("team", ["x", "y"])
def test_namespaces_of_terms_of_placed_pods(kept: bool, team: str) -> None:
    there = pod("there", "other").apart("az", S1, **TEAM).running_on("n0")
    space = thing("Namespace", "default", namespace="", team=team)
    expected = [NOT_NOW if team == "x" else PASS, PASS]
    assert answers(kept, plain, space, *nodes(n0={"az": "0"}, n1={"az": "1"}), there) == expected


def test_a_namespace_that_changes_its_labels(kept: bool) -> None:
    def wanted(name: str) -> PodBuilder:
        return pod(name).apart("az", S1, **TEAM)

    there = labelled("there", S1, "other").running_on("n0")
    asked = stage(kept, *nodes(n0={"az": "0"}, n1={"az": "1"}), there)
    assert asked.answers(wanted) == [PASS, PASS]
    asked.add(thing("Namespace", "other", namespace="", team="x"))
    assert asked.answers(wanted) == [NOT_NOW, PASS]
    asked.add(thing("Namespace", "other", namespace="", team="y"))
    assert asked.answers(wanted) == [PASS, PASS]


def test_label_keys_narrow_the_selector(kept: bool) -> None:
    def same(name: str) -> PodBuilder:
        return labelled(name, S1 | {"v": "1"}).apart("az", S1, matchLabelKeys=["v", "absent"])

    def others(name: str) -> PodBuilder:
        return labelled(name, S1 | {"v": "1"}).apart("az", S1, mismatchLabelKeys=["v"])

    pods = [*running({"n0": 1}, app="s1", v="1"), *running({"n1": 1}, app="s1", v="2")]
    places = nodes(n0={"az": "0"}, n1={"az": "1"})
    assert answers(kept, same, *places, *pods) == [NOT_NOW, PASS]
    assert answers(kept, others, *places, *pods) == [PASS, NOT_NOW]


def test_a_term_that_cannot_be_read(kept: bool) -> None:
    asked = stage(kept, *nodes(n0=CHINA))
    selector = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    refused = asked.stage.wait(pod("p").near(REGION, labelSelector=selector).build())
    assert refused.message.startswith(
        '0/1 nodes are available: parsing pod: label "app": there is no operator'
    )
    assert refused.plugins == ("InterPodAffinity",)


# nominated pods


def test_a_nominated_pod_keeps_others_away(kept: bool) -> None:
    """Its anti-affinity counts before it is there, for pods that other terms concern already."""
    vip = pod("vip").priority(9).apart("az", S1).nominated_to("n0").gated("later")
    asked = stage(kept, *nodes(n0={"az": "0"}, n1={"az": "1"}, n2={"az": "2"}), vip)

    def wanted(name: str) -> PodBuilder:
        return plain(name).apart("az", S2)

    assert set(asked.scores(wanted)) == {"n1", "n2"}
    assert set(asked.scores(plain)) == {"n0", "n1", "n2"}
    asked.add(pod("there").apart("az", S1, namespaces=["default"]).running_on("n1"))
    assert set(asked.scores(plain)) == {"n2"}


def test_a_nominated_pod_counts_only_beside_others(kept: bool) -> None:
    """What is held against a pod where the key is missing rejects nothing, so nobody looks at it."""
    vip = pod("vip").priority(9).apart("az", S1).nominated_to("n0").gated("later")
    there = pod("there").apart("az", S1, namespaces=["default"]).running_on("n1")
    asked = stage(kept, *nodes(n0={"az": "0"}, n1={}), vip, there)
    assert set(asked.scores(plain)) == {"n0", "n1"}


def test_a_nominated_pod_is_kept_away_from(kept: bool) -> None:
    vip = labelled("vip", S2).priority(9).nominated_to("n0").gated("later")
    asked = stage(kept, *nodes(n0={"az": "0"}, n1={"az": "1"}), vip)
    assert list(asked.scores(lambda name: pod(name).apart("az", S2))) == ["n1"]


def test_a_nominated_pod_is_not_enough_to_be_near_to(kept: bool) -> None:
    vip = labelled("vip", S2).priority(9).nominated_to("n0").gated("later")
    asked = stage(kept, *nodes(n0={"az": "0"}, n1={"az": "1"}), vip)
    assert asked.scores(lambda name: pod(name).near("az", S2)) == {}
