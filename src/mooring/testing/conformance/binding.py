"""Binds pods as a real scheduler does, against an API server that takes everything."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mooring.engine.decisions import Bind
from mooring.engine.engine import Engine
from mooring.framework.running.binding import BindingFailed, run_binding
from mooring.model.objects import Pod

LONGEST_S = 2.0


class YieldingApi:
    """Takes every write, finds no object, and does not wait."""

    def __init__(self) -> None:
        self.bound: list[str] = []
        self.elsewhere = ThreadPoolExecutor(1)  # whoever checks may have a loop running

    async def bind(self, pod: Pod, node_name: str) -> None:
        self.bound.append(pod.metadata.uid)

    async def patch(self, kind: str, key: str, patch: dict[str, Any]) -> None:
        return None

    async def get(self, kind: str, key: str) -> Any:
        return None

    async def sleep(self, seconds: float) -> None:
        return None


def carry_out(engine: Engine, bind: Bind, api: YieldingApi) -> str:
    """Why the pod could not be bound; "" when it was."""
    state = engine.binding_state(bind)
    if state is None:
        return "the attempt is over"

    async def run() -> None:
        work = run_binding(state.profile, state.cycle, bind.pod, bind.node, bind.patch, api)
        await asyncio.wait_for(work, LONGEST_S)

    try:
        api.elsewhere.submit(asyncio.run, run()).result()
    except (BindingFailed, TimeoutError) as error:
        return str(error) or "it takes too long"
    return ""
