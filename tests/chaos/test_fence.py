"""A write by one who has lost the lease is told, and none else."""

from __future__ import annotations

import json

from chaos.fence import MARGIN_SECONDS, writes_without_lease
from e2e.api import Object
from e2e.faulty_proxy import BIND, EVENT, LEASE, OTHER, Seen

LATER = MARGIN_SECONDS + 1


def seen(kind: str, at: float, body: Object, *, method: str = "POST", code: int = 201) -> Seen:
    path = "/api/v1/namespaces/a/pods/b/binding"
    return Seen(kind, method, path, {}, "", json.dumps(body).encode(), at, code, code, at)


def lease(at: float, holder: str, *, code: int = 200) -> Seen:
    return seen(LEASE, at, {"spec": {"holderIdentity": holder}}, method="PUT", code=code)


def write(at: float, kind: str = BIND, *, code: int = 201) -> Seen:
    return seen(kind, at, {}, code=code)


def test_a_leader_may_write() -> None:
    assert writes_without_lease([[lease(1, "a"), write(2), write(100)], []]) == []


def test_who_has_lost_the_lease_may_not() -> None:
    logs = [[lease(1, "a"), write(2), write(10 + LATER)], [lease(10, "b")]]
    (said,) = writes_without_lease(logs)
    assert said.startswith("scheduler 0: POST /api/v1/namespaces/a/pods/b/binding 3.0 s after scheduler 1")


def test_what_was_sent_in_time_may_arrive_a_little_later() -> None:
    assert writes_without_lease([[lease(1, "a"), write(10.5)], [lease(10, "b")]]) == []


def test_who_has_the_lease_again_may_write_again() -> None:
    logs = [[lease(1, "a"), lease(20, "a"), write(20 + LATER)], [lease(10, "b"), lease(15, "")]]
    assert writes_without_lease(logs) == []


def test_what_the_server_refused_was_not_written() -> None:
    assert writes_without_lease([[lease(1, "a"), write(20, code=409)], [lease(10, "b")]]) == []
    assert writes_without_lease([[lease(1, "a"), write(20)], [lease(10, "b", code=409)]]) == []


def test_events_count_but_for_those_about_the_lease() -> None:
    about_pod = seen(EVENT, 20, {"regarding": {"kind": "Pod"}})
    about_lease = seen(EVENT, 20, {"regarding": {"kind": "Lease"}})
    assert len(writes_without_lease([[about_pod], [lease(10, "b")]])) == 1
    assert writes_without_lease([[about_lease], [lease(10, "b")]]) == []


def test_reading_is_no_write() -> None:
    assert writes_without_lease([[seen(OTHER, 20, {}, method="GET", code=200)], [lease(10, "b")]]) == []
