"""The world as binding plugins see it: the calls of an API server, answered at once."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from mooring.errors import ApiError, MooringError
from mooring.framework.running.binding import LONGEST_BINDING_S, NOT_DONE, seconds_of_sleep
from mooring.model.objects import Pod
from mooring.sim.world.world import World


class WorldApi:
    """Every call is carried out when it is made, so nothing ever waits."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.slept_s = 0.0  # in the binding that is under way

    async def bind(self, pod: Pod, node_name: str) -> None:
        self._world.bind(pod.key, node_name, uid=pod.uid)

    async def patch(self, kind: str, key: str, patch: dict[str, Any]) -> None:
        self._world.patch(kind, key, patch)

    async def get(self, kind: str, key: str) -> Any:
        return self._world.store.find(kind, key)

    async def sleep(self, seconds: float) -> None:
        """Whatever follows from a call has happened when the call returns: there is nothing to wait for. Who
        would sleep for longer than any binding lasts is given up, as in a real cluster."""
        self.slept_s += seconds_of_sleep(seconds)
        if self.slept_s >= LONGEST_BINDING_S:
            raise ApiError(504, NOT_DONE)


def run_to_end(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine that only ever awaits what is answered at once."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise MooringError(
        "a binding plugin awaits something other than its handle's api; time is simulated here, "
        "so there is nothing that could ever answer it"
    )
