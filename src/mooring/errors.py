"""Every exception Mooring raises on purpose.

    MooringError
    ├── QuantityError        a resource quantity that is not one ("12 apples")
    ├── InputError           what a person wrote is wrong; carries every mistake with its place
    │   ├── ManifestError    in a Kubernetes manifest
    │   ├── ConfigError      in a KubeSchedulerConfiguration
    │   └── PolicyError      in a plugin, found when it is loaded
    ├── SelectorError        a selector that cannot be read (in model.selectors)
    ├── ApiError             the API server refuses; its words and HTTP code
    ├── BindingFailed        a pod could not be bound (in framework.binding)
    ├── ClusterError         a change the cluster refuses (unknown node, pod taken twice)
    ├── ScopeError           a plugin reads what its scope or signature does not declare
    ├── PluginFailed         a plugin raised or answered nonsense; costs its pod one cycle
    └── InvariantError       Mooring contradicts itself: always a bug in Mooring

A pod that does not fit is not an error: it is a `Wait` with counted reasons.
"""

from __future__ import annotations

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


class ManifestError(InputError):
    """A mistake in a Kubernetes manifest."""


class ConfigError(InputError):
    """A mistake in a KubeSchedulerConfiguration."""


class PolicyError(InputError):
    """A mistake in a plugin, found when it is loaded."""


class ApiError(MooringError):
    """What the API server answers to a request it does not carry out, with its HTTP code."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class ClusterError(MooringError):
    """A change the cluster refuses."""


class ScopeError(MooringError):
    """A plugin reads what its scope or signature does not declare."""


class PluginFailed(MooringError):
    """A plugin raised or answered nonsense at `point`; the message names it."""

    def __init__(self, plugin: str, point: str, what: str) -> None:
        self.plugin = plugin
        self.point = point
        self.what = what
        super().__init__(what)


class InvariantError(MooringError):
    """Mooring contradicts itself."""


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """` Did you mean "x"?` for the nearest known word, or nothing when none is near."""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f' Did you mean "{near[0]}"?' if near else ""
