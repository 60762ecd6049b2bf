"""Pods are made and removed whatever the server answers meanwhile, and nothing is given up in silence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaos import tenants
from chaos.ledger import Ledger
from chaos.tenants import Tenants
from chaos.workload import DELETED, Batch
from e2e.api import Object, Refused
from e2e.workloads import pod


class Server:
    """Answers what it is told to, then takes everything."""

    def __init__(self, *troubles: Exception) -> None:
        self.troubles = list(troubles)
        self.names: list[str] = []

    def create(self, path: str, body: Object) -> Object:
        self._trouble()
        self.names.append(body["metadata"]["name"])
        return body

    def delete(self, path: str, *, grace_seconds: int) -> None:
        self._trouble()
        self.names.remove(path.rpartition("/")[2])

    def _trouble(self) -> None:
        if self.troubles:
            raise self.troubles.pop(0)


BATCH = Batch(0.0, 10.0, DELETED, (pod("a"), pod("b")))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenants, "RETRY_SECONDS", 0.0)


def acts(server: Server) -> list[Callable[[], None]]:
    """What is done for a batch, in order."""
    people = Tenants(server, Ledger())  # type: ignore[arg-type]
    people.begin([BATCH], 0.0)
    return [people._next() or pytest.fail("nothing to do") for _ in range(2)]


def test_it_tries_until_it_has_worked() -> None:
    server = Server(ConnectionResetError(), Refused(500, "no"), Refused(403, "roles?"), Refused(429, "no"))
    make, end = acts(server)
    make()
    assert server.names == ["a", "b"]
    server.troubles = [TimeoutError()]
    end()
    assert server.names == []


def test_an_answer_that_was_lost_is_not_asked_for_again() -> None:
    server = Server(Refused(409, "it is there"))
    make, end = acts(server)
    make()
    assert server.names == ["b"]
    server.troubles = [Refused(404, "it is gone")]
    end()
    assert server.names == []


def test_what_can_never_work_is_raised() -> None:
    make, _ = acts(Server(Refused(422, "no such field")))
    with pytest.raises(Refused, match="no such field"):
        make()
