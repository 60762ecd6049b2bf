from __future__ import annotations

import pytest

from mooring.config.catalogue import POINTS, PluginUse
from mooring.config.profiles import PointSet, expand, faults, merge

ANYWHERE = {"N": {"score"}, "T": {"filter", "score"}, "S": {"score"}, "Q": {"queueSort"}, "B": {"bind"}}


def uses(text: str) -> tuple[PluginUse, ...]:
    """ "N T:3" is N with weight 1 and T with weight 3."""
    pairs = [word.partition(":") for word in text.split()]
    return tuple(PluginUse(name, int(weight or 1)) for name, _, weight in pairs)


def names(found: tuple[PluginUse, ...]) -> str:
    return " ".join(use.name for use in found)


def implements(name: str) -> frozenset[str]:
    return frozenset(ANYWHERE[name])


@pytest.mark.parametrize(
    ("defaults", "enabled", "disabled", "merged"),
    [
        pytest.param("A B C", "", "", "A B C", id="nothing of its own"),
        pytest.param("A B C", "D E", "", "A B C D E", id="appended in order"),
        pytest.param("A B C", "", "B", "A C", id="one dropped"),
        pytest.param("A B C", "", "*", "", id="all dropped"),
        pytest.param("A B C", "D", "*", "D", id="all dropped but its own"),
        pytest.param("A B:2 C", "B:5", "", "A B:5 C", id="weight replaced in place"),
        pytest.param("A B C", "D C:4 A:3", "", "A:3 B C:4 D", id="several replaced in place"),
        pytest.param("A B C", "A:9", "A", "B C A:9", id="dropped and added goes last"),
        pytest.param("A B", "B:2 A:3", "*", "B:2 A:3", id="own order after dropping all"),
        pytest.param("A B", "", "Unknown", "A B", id="unknown names may be disabled"),
    ],
)
def test_merge(defaults: str, enabled: str, disabled: str, merged: str) -> None:
    custom = PointSet(uses(enabled), frozenset(disabled.split()))
    assert merge(uses(defaults), custom) == uses(merged)


@pytest.mark.parametrize(
    ("multi_point", "enabled", "disabled", "score"),
    [
        pytest.param("N T S", "S T", "", "S T N", id="K21"),
        pytest.param("T S", "N S T", "", "S T N", id="K22"),
        pytest.param("N T S", "", "T", "N S", id="disabled here"),
        pytest.param("N T S", "", "*", "", id="nothing from multiPoint"),
        pytest.param("N T S", "S", "*", "S", id="only what is listed here"),
        pytest.param("N:4 T S", "", "", "N:4 T S", id="multiPoint weight"),
        pytest.param("N:4 T S", "N:7", "", "N:7 T S", id="own weight wins"),
        pytest.param("N:4 T S", "N:0", "", "N:1 T S", id="entry without weight wins, and weighs 1"),
        pytest.param("N T S", "N:5", "N", "T S N:5", id="disabled and listed goes last"),
        pytest.param("Q B", "N", "", "N", id="others do not implement it"),
    ],
)
def test_expand(multi_point: str, enabled: str, disabled: str, score: str) -> None:
    explicit = {"score": PointSet(uses(enabled), frozenset(disabled.split()))}
    points = expand(uses(multi_point), explicit, implements)
    assert points["score"] == uses(score)
    assert tuple(points) == POINTS


def test_a_plugin_disabled_at_one_point_stays_at_others() -> None:
    points = expand(uses("T"), {"score": PointSet((), frozenset({"T"}))}, implements)
    assert (names(points["filter"]), names(points["score"])) == ("T", "")


@pytest.mark.parametrize("enabled", [pytest.param("T", id="K23")])
def test_nothing_but_what_is_enabled(enabled: str) -> None:
    merged = merge(uses("Q N T B"), PointSet(uses(enabled), frozenset({"*"})))
    points = expand(merged, {}, implements)
    assert {point: names(found) for point, found in points.items() if found} == {"filter": "T", "score": "T"}
    assert faults("p", points) == [
        ("queueSort", 'only one queue sort plugin required for profile with scheduler name "p", but got 0.'),
        ("bind", 'at least one bind plugin is needed for profile with scheduler name "p".'),
    ]


def test_scores_must_not_overflow() -> None:
    points = expand(uses(f"Q B N:{2**62} T:{2**62}"), {}, implements)
    assert faults("p", points) == [("score", "total score of Score plugins could overflow.")]
