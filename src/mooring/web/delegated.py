"""Leaves it to the API server who somebody is (TokenReview) and what they may do (SubjectAccessReview).

Its answers are remembered for ten seconds; tokens themselves are never kept.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

import msgspec

from mooring.errors import ApiError
from mooring.kube.resources import Resource
from mooring.web.access import ANONYMOUS, Answer, Credentials, Verdict

log = logging.getLogger("mooring.web")

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
REMEMBERED_S = 10.0
MOST_REMEMBERED = 1000
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ALWAYS_ALLOWED = "system:masters"

Value = TypeVar("Value")


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
    """Answers that are still good."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[Hashable, tuple[float, Value]] = {}  # the oldest first

    def get(self, key: Hashable) -> Value | None:
        known = self._known.get(key)
        return known[1] if known and self._clock() < known[0] else None

    def put(self, key: Hashable, value: Value) -> None:
        self._known.pop(key, None)
        self._known[key] = (self._clock() + REMEMBERED_S, value)
        if len(self._known) > MOST_REMEMBERED:
            del self._known[next(iter(self._known))]


class Delegated:
    """An authorizer: call it with credentials, a verb and a path."""

    def __init__(self, reviewer: Reviewer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviewer = reviewer
        self._users = Memory[TokenStatus](clock)
        self._access = Memory[AccessStatus](clock)

    async def __call__(self, who: Credentials, verb: str, path: str) -> Verdict:
        try:
            user = await self._user(who)
        except (ApiError, msgspec.MsgspecError) as error:
            log.warning("a token cannot be reviewed: %s", error)
            return Verdict(Answer.UNKNOWN)
        if user is None:
            return Verdict(Answer.UNKNOWN)
        if ALWAYS_ALLOWED in user.groups:
            return Verdict(Answer.ALLOWED, user.username)
        try:
            access = await self._may(user, verb, path)
        except (ApiError, msgspec.MsgspecError) as error:
            return Verdict(Answer.FAILED, user.username, str(error))
        return Verdict(Answer.ALLOWED if access.allowed else Answer.DENIED, user.username, access.reason)

    async def _user(self, who: Credentials) -> User | None:
        """Who somebody is; None for a token that is nobody's."""
        if who.user:
            return User(username=who.user, groups=(*who.groups, AUTHENTICATED))
        if not who.token:
            return User(username=ANONYMOUS, groups=(UNAUTHENTICATED,))
        key = hashlib.sha256(who.token.encode()).digest()
        status = self._users.get(key)
        if status is None:
            status = (await self._ask(TOKEN_REVIEWS, {"token": who.token}, TokenReview)).status
            self._users.put(key, status)
        return status.user if status.authenticated else None

    async def _may(self, user: User, verb: str, path: str) -> AccessStatus:
        key = (user.username, user.uid, user.groups, tuple(sorted(user.extra.items())), verb, path)
        known = self._access.get(key)
        if known is None:
            spec = {
                "user": user.username,
                "uid": user.uid,
                "groups": user.groups,
                "extra": user.extra,
                "nonResourceAttributes": {"path": path, "verb": verb},
            }
            known = (await self._ask(ACCESS_REVIEWS, spec, AccessReview)).status
            self._access.put(key, known)
        return known

    async def _ask(self, resource: Resource, spec: object, kind: type[Value]) -> Value:
        review = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        return msgspec.json.decode(
            await self._reviewer.create(resource, "", msgspec.json.encode(review)), type=kind
        )
