"""Leaves it to the API server who somebody is (TokenReview) and what they may do (SubjectAccessReview).

Its answers are remembered for ten seconds, or as long as the flags say; tokens themselves are never kept.
Answers about tokens that are nobody's are kept apart: however many are tried, those that are good stay.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable

import msgspec

from mooring.errors import ApiError
from mooring.web.access import ANONYMOUS, Answer, Credentials, Verdict
from mooring.web.reviews import (
    ACCESS_REVIEWS,
    TOKEN_REVIEWS,
    AccessReview,
    AccessStatus,
    Busy,
    Memory,
    Reviewer,
    Reviews,
    TokenReview,
    User,
)

log = logging.getLogger("mooring.web")

REMEMBERED_S = 10.0
WELCOME_S = 3600.0  # for so long somebody who was allowed something is not a stranger
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ALWAYS_ALLOWED = "system:masters"
QUIET_S = 10.0  # between two lines of the log about reviews that fail


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """For how many seconds answers are good."""

    token: float = REMEMBERED_S
    authorized: float = REMEMBERED_S
    unauthorized: float = REMEMBERED_S


TERMS = Terms()


class Delegated:
    """An authorizer: call it with credentials, a verb and a path. `access` is who is asked what users may,
    when it is another server than the one that knows them."""

    def __init__(
        self,
        reviewer: Reviewer,
        access: Reviewer | None = None,
        *,
        terms: Terms = TERMS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terms = terms
        self._clock = clock
        self._tokens = Reviews(reviewer, clock=clock)
        self._accesses = Reviews(access, clock=clock) if access is not None else self._tokens
        self._users = Memory[User](clock)
        self._nobody = Memory[bool](clock)
        self._access = Memory[AccessStatus](clock)
        self._welcome = Memory[bool](clock)  # tokens by their digest, users by their name
        self._next_line = 0.0

    async def __call__(self, who: Credentials, verb: str, path: str) -> Verdict:
        try:
            user = await self._user(who)
        except Busy:
            return Verdict(Answer.BUSY)
        except (ApiError, msgspec.MsgspecError) as error:
            self._tell("a token cannot be reviewed", error)
            return Verdict(Answer.UNKNOWN)
        if user is None:
            return Verdict(Answer.UNKNOWN)
        if ALWAYS_ALLOWED in user.groups:
            return Verdict(Answer.ALLOWED, user.username)
        try:
            access = await self._may(user, verb, path)
        except Busy:
            return Verdict(Answer.BUSY, user.username)
        except (ApiError, msgspec.MsgspecError) as error:
            self._tell("it cannot be found out who may do what", error)
            return Verdict(Answer.FAILED, user.username, str(error))
        return Verdict(Answer.ALLOWED if access.allowed else Answer.DENIED, user.username, access.reason)

    async def _user(self, who: Credentials) -> User | None:
        """Who somebody is; None for a token that is nobody's."""
        if who.user:
            groups = (*(each for each in who.groups if each != AUTHENTICATED), AUTHENTICATED)
            return User(username=who.user, uid=who.uid, groups=groups, extra=dict(who.extra))
        if not who.token:
            return User(username=ANONYMOUS, groups=(UNAUTHENTICATED,))
        key = hashlib.sha256(who.token.encode()).digest()
        if (user := self._users.get(key)) is not None:
            return user
        return None if self._nobody.get(key) else await self._review(who.token, key)

    async def _review(self, token: str, key: bytes) -> User | None:
        stranger = not self._welcome.get(key)
        about = "a token" if stranger else key
        spec = {"token": token}
        status = (
            await self._tokens.ask(TOKEN_REVIEWS, spec, TokenReview, about=about, stranger=stranger)
        ).status
        if not status.authenticated:
            self._nobody.put(key, True, self._terms.token)
            return None
        self._users.put(key, status.user, self._terms.token)
        self._welcome.put(key, True, WELCOME_S)
        return status.user

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
            about, stranger = user.username, not self._welcome.get(user.username)
            answer = await self._accesses.ask(
                ACCESS_REVIEWS, spec, AccessReview, about=about, stranger=stranger
            )
            known = answer.status
            terms = self._terms
            self._access.put(key, known, terms.authorized if known.allowed else terms.unauthorized)
            if known.allowed and user.username != ANONYMOUS:
                self._welcome.put(user.username, True, WELCOME_S)
        return known

    def _tell(self, what: str, error: Exception) -> None:
        """Now and then: strangers are not to fill the log."""
        if self._clock() >= self._next_line:
            self._next_line = self._clock() + QUIET_S
            log.warning("%s: %s", what, error)
