"""Every exception Mooring raises on purpose.

    MooringError
    ├── QuantityError        a resource quantity that is not one ("12 apples")
    ├── InputError           what a person wrote is wrong; carries every mistake with its place
    │   ├── ManifestError    in a Kubernetes manifest
    │   ├── ConfigError      in a KubeSchedulerConfiguration
    │   └── PolicyError      in a plugin, found when it is loaded
    ├── ArgsError            arguments of a plugin that make no sense; says which of their fields
    ├── SelectorError        a selector that cannot be read (in model.selectors)
    ├── Unreadable           an object of the API server that cannot be read
    ├── ApiError             the API server refuses; its words and HTTP code
    │   ├── Unauthorized     401: it does not know who asks
    │   ├── Forbidden        403: it knows, and says no
    │   ├── NotFound         404: there is no such object, or no such kind
    │   ├── Conflict         409: the object is there already, or has changed meanwhile (`reason` says which)
    │   ├── Gone             410: what was asked for is too old to be known
    │   ├── Invalid          422: the object is not a valid one
    │   ├── TooManyRequests  429: not now (`retry_after` says when, if the server does)
    │   └── Unreachable      no answer at all: refused, cut off, or too late
    ├── BindingFailed        a pod could not be bound (in framework.binding)
    ├── ClusterError         a change the cluster refuses (unknown node, pod taken twice)
    ├── BookError            a book that is broken is read, or two have one name
    ├── ScopeError           a plugin reads what its scope or signature does not declare
    ├── PluginFailed         a plugin raised or answered nonsense; costs its pod one cycle
    │   └── OverBudget       it took longer than it may, or did so too often to be asked now
    └── InvariantError       Mooring contradicts itself: always a bug in Mooring

    PointTimedOut            a plugin's method takes far too long; raised in it, past any `except Exception`
    PolicyHangs              the same, and it ends the whole run: in a simulation

A pod that does not fit is not an error: it is a `Wait` with counted reasons.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple, Self


class MooringError(Exception):
    """The root of the tree."""


class QuantityError(MooringError, ValueError):
    """A resource quantity that is not one."""


class Mistake(NamedTuple):
    """One thing wrong in what a person wrote: where, and what."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


class InputError(MooringError):
    """What a person wrote is wrong. Carries every mistake found, not only the first."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))

    @classmethod
    def at(cls, place: str, what: str) -> Self:
        return cls([Mistake(place, what)])


class FieldMistake(NamedTuple):
    """One thing wrong with a field: its path, as it is written in a file, and what.

    `beside` names other fields it is wrong only because of: with one of them wrong already, it says nothing.
    """

    field: tuple[str | int, ...]
    what: str
    beside: tuple[str, ...] = ()


class ArgsError(MooringError, ValueError):
    """Arguments of a plugin that make no sense. Raised by them, or by a plugin that is made with them; in a
    configuration every mistake has the place of its field."""

    def __init__(self, mistakes: Sequence[FieldMistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(mistake.what for mistake in self.mistakes))

    @classmethod
    def unless_right(cls, mistakes: Sequence[FieldMistake]) -> None:
        """Raises if there are any mistakes."""
        if mistakes:
            raise cls(mistakes)


class ManifestError(InputError):
    """A mistake in a Kubernetes manifest."""


class ConfigError(InputError):
    """A mistake in a KubeSchedulerConfiguration."""


class PolicyError(InputError):
    """A mistake in a plugin, found when it is loaded."""


class ApiError(MooringError):
    """What the API server answers to a request it does not carry out, with its HTTP code.

    `reason` is the server's own one-word reason ("AlreadyExists"); `retry_after` is in seconds, None
    when the server names no time.
    """

    def __init__(self, code: int, message: str, reason: str = "", retry_after: float | None = None) -> None:
        self.code = code
        self.reason = reason
        self.retry_after = retry_after
        super().__init__(message)


class Unauthorized(ApiError):
    """401: the server does not know who asks."""


class Forbidden(ApiError):
    """403: the server knows who asks, and says no."""


class NotFound(ApiError):
    """404: there is no such object, or no such kind."""


class Conflict(ApiError):
    """409: the object is there already, or has changed meanwhile."""


class Gone(ApiError):
    """410: what was asked for is too old to be known; start over with a list."""


class Invalid(ApiError):
    """422: the object is not a valid one."""


class TooManyRequests(ApiError):
    """429: not now."""


class Unreachable(ApiError):
    """No answer at all: the connection is refused or cut, or the time is up.

    `sent` is False when the request certainly never reached the server; otherwise it may have been
    carried out.
    """

    def __init__(
        self,
        code: int = 0,
        message: str = "",
        reason: str = "",
        retry_after: float | None = None,
        *,
        sent: bool = True,
    ) -> None:
        self.sent = sent
        super().__init__(code, message, reason, retry_after)


class ClusterError(MooringError):
    """A change the cluster refuses."""


class BookError(MooringError):
    """A book that is broken is read, or two have one name."""


class ScopeError(MooringError):
    """A plugin reads what its scope or signature does not declare."""


class PluginFailed(MooringError):
    """A plugin raised or answered nonsense at `point`; the message names it."""

    def __init__(self, plugin: str, point: str, what: str) -> None:
        self.plugin = plugin
        self.point = point
        self.what = what
        super().__init__(what)


class OverBudget(PluginFailed):
    """A plugin took longer than it may. `skips`: it was to score, and the pod goes without."""

    def __init__(self, plugin: str, point: str, what: str, *, skips: bool) -> None:
        super().__init__(plugin, point, what)
        self.skips = skips


class Untold(MooringError):
    """Why a decision was made cannot be told in full; the words say why."""


class Unreadable(MooringError):
    """An object of the API server cannot be read."""


class InvariantError(MooringError):
    """Mooring contradicts itself."""


class PointTimedOut(BaseException):
    """A plugin's method takes far too long. Raised in the middle of it; costs its pod one cycle."""


class PolicyHangs(BaseException):
    """The same where nobody else is waiting: it ends what was asked for."""


RAISES = frozenset({dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]})


def wants_the_end(error: BaseException) -> bool:
    """Whether somebody outside ends what is running (Ctrl-C, a task that is cancelled), rather than code
    that raises what only Python itself should: then the instruction that failed is a `raise`."""
    if isinstance(error, PolicyHangs):
        return True
    if isinstance(error, (Exception, SystemExit, PointTimedOut)) or (trace := error.__traceback__) is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] not in RAISES


LONGEST_WORD = 100  # characters; comparing takes their square, and nobody mistypes longer ones


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """` Did you mean "x"?` for the nearest known word, or nothing when none is near."""
    if len(word) > LONGEST_WORD:
        return ""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f' Did you mean "{near[0]}"?' if near else ""
