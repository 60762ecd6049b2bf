"""Whether a server answers, and who hears of it."""

from __future__ import annotations

from mooring.errors import Forbidden, Unreachable
from mooring.kube.contact import BETWEEN_CALLS_S, SETTLING_S, Contact

AWAY, REFUSAL = Unreachable(0, "connection refused"), Forbidden(403, "no")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_server_settles_for_a_while_after_it_has_come_back() -> None:
    clock = Clock()
    contact = Contact(clock)
    assert contact.is_unsettled  # it may have started just now
    clock.now += SETTLING_S
    assert not contact.is_unsettled
    contact.failed(AWAY)
    clock.now += 1000
    assert contact.is_unsettled
    contact.failed(REFUSAL)  # that is an answer
    clock.now += SETTLING_S - 1
    assert contact.is_unsettled
    clock.now += 2
    assert not contact.is_unsettled


def test_a_refusal_does_not_unsettle() -> None:
    clock = Clock()
    contact = Contact(clock)
    clock.now += SETTLING_S
    contact.failed(REFUSAL)
    assert not contact.is_unsettled


def test_those_who_wait_are_called_when_it_comes_back_and_not_each_time_it_flaps() -> None:
    clock = Clock()
    contact, called = Contact(clock), list[float]()
    with contact.waiting(lambda: called.append(clock.now)):
        contact.worked()
        assert called == []  # it was never away
        for _ in range(20):
            contact.failed(AWAY)
            contact.failed(REFUSAL)
            contact.worked()
            clock.now += BETWEEN_CALLS_S / 10
    assert len(called) <= 4
    clock.now += 10
    contact.failed(AWAY)
    contact.worked()
    assert len(called) <= 4  # nobody waits any more


def test_those_who_were_refused_are_called_when_somebody_gets_through() -> None:
    clock = Clock()
    contact, called = Contact(clock), list[float]()
    with contact.waiting(lambda: called.append(clock.now)):
        contact.failed(AWAY)
        contact.failed(REFUSAL)
        clock.now = 100.5
        contact.failed(REFUSAL)
        clock.now = 100.8
        contact.worked()
        contact.failed(REFUSAL)
        contact.worked()
    assert called == [100.0, 100.8]
