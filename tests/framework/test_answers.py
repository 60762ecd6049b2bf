"""Answers are checked as they come back; nonsense names the plugin in kube-scheduler's words."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooring.errors import PluginFailed, ScopeError
from mooring.framework.api import answers
from mooring.framework.api.answers import FILTER_CODES
from mooring.framework.api.status import Code, Status, error, pending, skip, unresolvable, unschedulable, wait

PREFIXES = {
    "pre_filter": 'running PreFilter plugin "X": boom',
    "filter": 'running "X" filter plugin: boom',
    "post_filter": 'running PostFilter plugin "X": boom',
    "pre_score": 'running PreScore plugin "X": boom',
    "score": 'running Score plugins: plugin "X" failed with: boom',
    "normalize": 'running Score plugins: plugin "X" failed with: boom',
    "reserve": 'running Reserve plugin "X": boom',
    "permit": 'running Permit plugin "X": boom',
    "pre_bind": 'running PreBind plugin "X": boom',
    "bind": 'running Bind plugin "X": boom',
    "allocate": 'running allocate of plugin "X": boom',
}


@pytest.mark.parametrize(("point", "message"), PREFIXES.items(), ids=PREFIXES)
def test_an_error_status_is_a_failure_in_the_words_of_its_point(point: str, message: str) -> None:
    with pytest.raises(PluginFailed) as failure:
        answers.status("X", point, error("boom"))
    assert str(failure.value) == message
    assert (failure.value.plugin, failure.value.point) == ("X", point)


@pytest.mark.parametrize("answer", [None, Status()], ids=["nothing", "success"])
def test_success_is_none(answer: Status | None) -> None:
    assert answers.status("X", "filter", answer, FILTER_CODES) is None


@pytest.mark.parametrize("answer", [unschedulable("a"), unresolvable("b"), pending("c")])
def test_a_rejection_is_signed(answer: Status) -> None:
    found = answers.status("X", "filter", answer, FILTER_CODES)
    assert found == answer.by("X")
    assert found.plugin == "X"


NONSENSE: dict[str, tuple[Any, str]] = {
    "a boolean": (True, "returned True, which is neither a Status nor None"),
    "a string": ("no", "returned 'no', which is neither a Status nor None"),
    "a bare code": (Code.UNSCHEDULABLE, "which is neither a Status nor None"),
    "a skip": (skip(), "returned SKIP: Skip"),
    "a wait": (wait(3, "patience"), "returned WAIT: patience"),
    "an error without reasons": (error(), "Error"),
    "a code that is none": (
        Status(2, ("x",)),  # type: ignore[arg-type]
        "returned a Status whose code is 2, which is no Code",
    ),
    "reasons in one string": (
        Status(Code.UNSCHEDULABLE, "no"),  # type: ignore[arg-type]
        "returned a Status whose reasons are 'no', which is not a tuple of strings",
    ),
    "a reason that is no string": (unschedulable(7), "whose reasons are (7,)"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("answer", "message"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_a_failure(answer: Any, message: str) -> None:
    with pytest.raises(PluginFailed) as failure:
        answers.status("X", "filter", answer, FILTER_CODES)
    assert str(failure.value).startswith('running "X" filter plugin: ')
    assert message in str(failure.value)


def test_a_wait_says_for_how_many_seconds() -> None:
    found = answers.status("X", "permit", wait(3), {Code.WAIT})
    assert found is not None
    assert found.timeout_s == 3
    with pytest.raises(PluginFailed, match="whose timeout_s is '3s', which is no number of seconds"):
        answers.status("X", "permit", wait("3s"), {Code.WAIT})  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [0, 100, 57, np.int64(57), np.uint8(3)], ids=repr)
def test_scores_are_integers_within_bounds(answer: Any) -> None:
    found = answers.score("X", answer, raw=False)
    assert type(found) is int
    assert found == answer


@pytest.mark.parametrize("answer", [-1, 101, np.int64(1000)], ids=repr)
def test_a_score_out_of_range_is_told_in_the_words_of_kubernetes(answer: int) -> None:
    with pytest.raises(PluginFailed) as failure:
        answers.score("X", answer, raw=False)
    expected = f'plugin "X" returns an invalid score {int(answer)}, '
    expected += "it should in the range of [0, 100] after normalizing"
    assert str(failure.value) == expected
    assert failure.value.point == "score"
    assert answers.score("X", answer, raw=True) == answer


@pytest.mark.parametrize("answer", [1.0, "1", None, True, np.bool_(True), np.float64(3)], ids=repr)
def test_what_is_no_integer_is_no_score(answer: Any) -> None:
    with pytest.raises(PluginFailed) as failure:
        answers.score("X", answer, raw=True)
    assert str(failure.value) == (
        f'running Score plugins: plugin "X" failed with: returned {answer!r}, which is not an integer'
    )


@pytest.mark.parametrize("answer", [2**63, -(2**63) - 1])
def test_a_raw_score_must_fit_the_columns(answer: int) -> None:
    with pytest.raises(PluginFailed, match="which does not fit into 64 bits"):
        answers.score("X", answer, raw=True)
    assert answers.score("X", 2**63 - 1, raw=True) == 2**63 - 1


# what plugins raise


def raising(error: Exception) -> Callable[..., Any]:
    def method(*arguments: Any) -> Any:
        raise error

    return method


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad zone"), "ValueError: bad zone"),
        (KeyError("zone"), "KeyError: 'zone'"),
        (AssertionError(), "AssertionError"),
        (ScopeError("reads node.pods"), "plugin X reads node.pods"),
    ],
    ids=["with a text", "a key error", "without a text", "out of scope"],
)
def test_what_a_plugin_raises_is_its_failure(error: Exception, text: str) -> None:
    with pytest.raises(PluginFailed) as failure:
        answers.call("X", "filter", raising(error), 1, 2)
    assert str(failure.value) == f'running "X" filter plugin: {text}'
    assert failure.value.__cause__ is error


def test_a_failure_passes_through_unchanged() -> None:
    failure = PluginFailed("Y", "score", "as it is")
    with pytest.raises(PluginFailed) as found:
        answers.call("X", "filter", raising(failure))
    assert found.value is failure


def test_a_method_is_called_with_its_arguments() -> None:
    assert answers.call("X", "filter", lambda *given: given, 1, "b") == (1, "b")


def test_the_traceback_is_logged_once_per_place(caplog: pytest.LogCaptureFixture) -> None:
    def here(*arguments: Any) -> Any:
        raise ValueError("here")

    def there(*arguments: Any) -> Any:
        raise ValueError("there")

    with caplog.at_level(logging.ERROR, "mooring.plugins"):
        for method in (here, here, there, here):
            with pytest.raises(PluginFailed):
                answers.call("Logged", "filter", method)
    assert [record.getMessage() for record in caplog.records] == ["plugin Logged failed at filter"] * 2
    assert all(record.exc_info for record in caplog.records)
