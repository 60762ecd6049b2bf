"""The conformance check finds what is broken, names the point, and leaves what is sound alone."""

from __future__ import annotations

import asyncio

import pytest

from mooring import Cycle, Node, Plugin, Pod, Scope, Status, unschedulable
from mooring.testing import check_conformance, node, pod
from mooring.testing.conformance import ConformanceError, smaller
from tests.testing.planted import BROKEN, TEAM, HidesLabel, UnreserveForgets
from tests.testing.sound import SOUND, Binds, Crowded

FEW = 2  # rounds: enough to see that nothing is told in vain, without all that could be


@pytest.mark.parametrize("policy", BROKEN, ids=lambda policy: policy.__name__)
def test_what_is_broken_is_found(policy: type[Plugin], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smaller, "MOST_STEPS", 0)  # that cases are made smaller is tested below
    with pytest.raises(ConformanceError, match=rf" at {BROKEN[policy]}: ") as found:
        check_conformance(policy)
    assert policy.name in str(found.value)


@pytest.mark.parametrize("policy", SOUND, ids=lambda policy: policy.__name__)
def test_what_is_sound_passes(policy: type[Plugin]) -> None:
    check_conformance(policy, rounds=FEW)


def test_the_smallest_case_is_shown_as_a_test_would_write_it() -> None:
    with pytest.raises(ConformanceError) as found:
        check_conformance(UnreserveForgets)
    case = str(found.value).splitlines()
    assert "unreserve gives back" in case[0]
    assert case[1].startswith("  the smallest case found (rounds=1, seed=")
    assert case[2].startswith('    there is node("')
    assert len(case) <= 5


def test_a_signature_is_told_with_the_two_pods_it_takes_for_alike() -> None:
    with pytest.raises(ConformanceError, match="labels {'licence': 'gold'}.*rather than|rather than.*'gold'"):
        check_conformance(HidesLabel)


class Pickets(Plugin):
    """Reads what no random pod says."""

    scope = Scope.STATIC

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        start, _, end = pod.annotations.get("example.com/hours", "").partition("..")
        return unschedulable("node(s) were closed") if start and end else None


def test_what_no_random_pod_shows_is_told_and_taken_from_examples() -> None:
    with pytest.raises(
        ConformanceError, match=r"filter: never once says no.*reads pod annotation example.com/hours"
    ):
        check_conformance(Pickets)
    check_conformance(Pickets, examples=[pod("x").annotation("example.com/hours", "1..2"), node("n")])


def test_few_rounds_do_not_tell_what_was_not_tried() -> None:
    check_conformance(Pickets, rounds=2)


def test_a_policy_that_cannot_be_loaded_is_told_so() -> None:
    class Misspelt(Plugin):
        def pre_fliter(self, cycle: Cycle, pod: Pod) -> None:
            return None

    with pytest.raises(ConformanceError, match=r"(?s)Misspelt cannot be loaded.*pre_filter"):
        check_conformance(Misspelt)


def test_binding_is_checked_where_a_loop_runs_already() -> None:
    async def within() -> None:
        check_conformance(Binds, rounds=1)

    asyncio.run(within())


def test_arguments_count() -> None:
    args = {"Crowded": Crowded.Args(most=3)}
    check_conformance(Crowded, args=args, rounds=FEW)


class Parrot(Plugin):
    """Learns a value of its own label from the code alone."""

    scope = Scope.STATIC

    def sign(self, pod: Pod) -> str:
        return "any"

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100 if pod.annotations.get(f"{TEAM}-colour") in {"ultramarine"} else 0


def test_values_are_taken_from_the_code() -> None:
    with pytest.raises(ConformanceError, match="ultramarine"):
        check_conformance(Parrot)
