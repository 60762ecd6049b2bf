"""One attempt to place one pod: what plugins share while it lasts."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.model.objects import Pod


class Cycle(msgspec.Struct, eq=False):
    """The state of an attempt. Plugins write to it in one point and read in a later one."""

    profile: str
    now: float
    attempt: int = 0  # its number: no two attempts of a scheduler have the same
    skip_filter: frozenset[str] = frozenset()  # plugins that skipped at pre_filter
    skip_score: frozenset[str] = frozenset()  # plugins that skipped at pre_score
    skip_pre_bind: frozenset[str] = frozenset()  # plugins that have nothing to do before the bind
    pods_to_activate: tuple[Pod, ...] = ()
    written: dict[str, Any] | None = None  # by `write`

    def write(self, key: str, value: Any) -> None:
        """Keeps a value for later points. A value with a `clone()` is cloned with the cycle."""
        if self.written is None:
            self.written = {}
        self.written[key] = value

    def read(self, key: str, *default: Any) -> Any:
        """What was written under a key; KeyError when nothing was and no default is given."""
        state = self.written or {}
        if key not in state and default:
            return default[0]
        return state[key]

    def forget(self, prefix: str) -> None:
        """Drops every value whose key begins so."""
        if self.written:
            self.written = {key: value for key, value in self.written.items() if not key.startswith(prefix)}

    def activate(self, pod: Pod) -> None:
        """Asks for a pod to be tried again once this one has its place."""
        self.pods_to_activate += (pod,)

    def clone(self) -> Cycle:
        """A copy to try things on."""
        copy = Cycle(self.profile, self.now, self.attempt)
        copy.skip_filter, copy.skip_score = self.skip_filter, self.skip_score
        for key, value in (self.written or {}).items():
            copy.write(key, value.clone() if hasattr(value, "clone") else value)
        return copy
