"""Asking the API server who somebody is and what they may do, without letting strangers overrun it, or us.

Whatever is under way is bounded, and so is how often somebody is asked about; who was never allowed anything
has the smaller part of it. What is asked already is not asked twice. Beyond that `Busy` is raised at once:
nobody waits in a line, so none can be filled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

import msgspec

from mooring.errors import MooringError
from mooring.kube.http.rate_limiter import Limiter
from mooring.kube.resources import Resource

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
MOST_REMEMBERED = 1000
MOST_UNDER_WAY = 16
MOST_FOR_STRANGERS = 8
A_SECOND, AT_ONCE = 10.0, 50  # questions about one user; tokens nobody has seen count as one user

Value = TypeVar("Value")


class Busy(MooringError):
    """Too much is asked already."""


class Reviewer(Protocol):
    """The one call needed of a client of the API server."""

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes: ...


class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of what is read of an answer."""


class User(Wire, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class TokenStatus(Wire, frozen=True):
    authenticated: bool = False
    user: User = User()


class TokenReview(Wire, frozen=True):
    status: TokenStatus = TokenStatus()


class AccessStatus(Wire, frozen=True):
    allowed: bool = False
    reason: str = ""


class AccessReview(Wire, frozen=True):
    status: AccessStatus = AccessStatus()


class Memory(Generic[Value]):
    """Values that are still good, the newest of them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[Hashable, tuple[float, Value]] = {}  # the oldest first

    def get(self, key: Hashable) -> Value | None:
        known = self._known.get(key)
        return known[1] if known and self._clock() < known[0] else None

    def put(self, key: Hashable, value: Value, seconds: float) -> None:
        self._known.pop(key, None)
        self._known[key] = (self._clock() + seconds, value)
        if len(self._known) > MOST_REMEMBERED:
            del self._known[next(iter(self._known))]


class Reviews:
    """The questions under way to one API server."""

    def __init__(self, reviewer: Reviewer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviewer = reviewer
        self._clock = clock
        self._asking: dict[bytes, asyncio.Task[bytes]] = {}
        self._of_strangers: set[bytes] = set()
        self._budgets: dict[Hashable, Limiter] = {}  # the least recently asked about first

    async def ask(
        self, resource: Resource, spec: object, kind: type[Value], *, about: Hashable, stranger: bool
    ) -> Value:
        """The answer to a review. Busy when `about` has been asked about too often, or all are at it."""
        review = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        body = msgspec.json.encode(review)
        task = self._asking.get(body) or self._begin(resource, body, about, stranger)
        return msgspec.json.decode(await asyncio.shield(task), type=kind)

    def _begin(self, resource: Resource, body: bytes, about: Hashable, stranger: bool) -> asyncio.Task[bytes]:
        full = len(self._asking) >= MOST_UNDER_WAY
        if full or (stranger and len(self._of_strangers) >= MOST_FOR_STRANGERS):
            raise Busy("too many reviews are under way")
        if not self._budget(about).try_acquire():
            raise Busy("too many reviews of one user")
        task = asyncio.ensure_future(self._reviewer.create(resource, "", body))
        self._asking[body] = task
        if stranger:
            self._of_strangers.add(body)
        task.add_done_callback(lambda _: self._end(body, task))
        return task

    def _end(self, body: bytes, task: asyncio.Future[bytes]) -> None:
        self._asking.pop(body, None)
        self._of_strangers.discard(body)
        if not task.cancelled():
            task.exception()  # whoever asked may have gone

    def _budget(self, about: Hashable) -> Limiter:
        budget = self._budgets.pop(about, None) or Limiter(A_SECOND, AT_ONCE, clock=self._clock)
        self._budgets[about] = budget
        if len(self._budgets) > MOST_REMEMBERED:
            del self._budgets[next(iter(self._budgets))]
        return budget
