"""Statuses: codes in kube-scheduler's order, reasons, and who gave them."""

from __future__ import annotations

import pytest

from mooring.framework.api import status
from mooring.framework.api.status import Code, Status


def test_codes_are_numbered_as_in_kubernetes() -> None:
    names = ["SUCCESS", "ERROR", "UNSCHEDULABLE", "UNSCHEDULABLE_AND_UNRESOLVABLE", "WAIT", "SKIP", "PENDING"]
    assert [code.name for code in sorted(Code)] == names
    assert [int(code) for code in sorted(Code)] == list(range(7))


@pytest.mark.parametrize(
    ("made", "code", "rejected"),
    [
        (Status(), Code.SUCCESS, False),
        (status.unschedulable("a", "b"), Code.UNSCHEDULABLE, True),
        (status.unresolvable("a", "b"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, True),
        (status.pending("a", "b"), Code.PENDING, True),
        (status.wait(5, "a", "b"), Code.WAIT, False),
        (status.skip(), Code.SKIP, False),
        (status.error("a", "b"), Code.ERROR, False),
    ],
    ids=["success", "unschedulable", "unresolvable", "pending", "wait", "skip", "error"],
)
def test_each_shorthand_has_its_code(made: Status, code: Code, rejected: bool) -> None:
    assert made.code is code
    assert made.rejected is rejected
    assert made.reasons in ((), ("a", "b"))


def test_the_message_joins_the_reasons() -> None:
    assert status.unschedulable("too hot", "too wet").message == "too hot, too wet"
    assert Status().message == ""


def test_waiting_says_for_how_long() -> None:
    assert status.wait(2.5).timeout_s == 2.5


def test_a_status_is_signed_once_and_stays_as_it_was() -> None:
    plain = status.unschedulable("too hot")
    signed = plain.by("Thermometer")
    assert (signed.plugin, signed.reasons, signed.code) == ("Thermometer", plain.reasons, plain.code)
    assert plain.plugin == ""
    assert signed.by("Thermometer") is signed
    assert signed.by("Other").plugin == "Other"
