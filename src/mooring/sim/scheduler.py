"""What a simulation needs of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from mooring.engine.decisions import Bind, Decision
from mooring.engine.events import Event
from mooring.engine.pod_words import Words
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.handle import Api
from mooring.framework.running.binding import BindingState
from mooring.model.objects import Pod


class Queue(Protocol):
    def get(self, uid: str) -> QueuedPod | None: ...

    def retry_at(self) -> float | None:
        """When the next back-off is over."""
        ...


class Scheduler(Protocol):
    """An engine, and nothing that only an engine has."""

    @property
    def queue(self) -> Queue: ...

    @property
    def waiting(self) -> Mapping[str, Any]:
        """The pods that have a place and wait for permission to take it, by uid."""
        ...

    @property
    def scores(self) -> Mapping[str, Mapping[str, int]]:
        """The totals of all feasible nodes when a pod was placed, by pod key."""
        ...

    @property
    def owes_words(self) -> bool:
        """Whether some pod waits and is still to be told what for."""
        ...

    def waits_for(self, uid: str) -> Words | None:
        """What a pod that has no node waits for, as far as that is known."""
        ...

    def gang_of(self, pod: Pod) -> tuple[str, str] | None:
        """What tells those that a pod waits together with from all others, and what they are called."""
        ...

    def network(self) -> Mapping[str, tuple[str, ...]]:
        """The network domains each node is in, the widest first, when that is known."""
        ...

    def attach(self, api: Api) -> None:
        """Gives binding plugins the API server their calls go to."""
        ...

    def binding_state(self, bind: Bind) -> BindingState | None:
        """What plugins that bind need to know of a pod that is to be bound."""
        ...

    def handle(self, event: Event, now: float) -> list[Decision]: ...

    def schedule(self, now: float) -> list[Decision] | None: ...

    def wake_at(self) -> float | None: ...

    def plugins_wake_at(self) -> float | None: ...
