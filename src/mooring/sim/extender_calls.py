"""Asks real extenders from within simulated time: the clock stands still until they have answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mooring.config.scheduler import Extender
from mooring.engine.decisions import Consult
from mooring.engine.events import Consulted
from mooring.extender.client import ExtenderClient, ExtenderError
from mooring.framework.api.handle import Api
from mooring.framework.running.binding import Binder
from mooring.model.objects import Pod


class Extending:
    """The extenders of a configuration, each question answered when it is asked."""

    def __init__(self, extenders: Sequence[Extender]) -> None:
        self._client = ExtenderClient(extenders)
        self._runner = asyncio.Runner()  # a loop of its own: the simulation has none

    def ask(self, question: Consult) -> Consulted:
        pod, extender, verb, number = question.pod, question.extender, question.verb, question.number
        try:
            answer = self._runner.run(self._client.ask(extender, verb, question.body, question.nodes))
        except ExtenderError as error:
            return Consulted(pod, extender, verb, number, error=str(error))
        return Consulted(pod, extender, verb, number, answer)

    def binder(self, extender: int, api: Api) -> Binder:
        """Binds by an extender. It cannot reach the simulated cluster: what it says it did is done for it."""

        async def bind(pod: Pod, node_name: str) -> bool:
            if not self._runner.run(self._client.bind(extender, pod, node_name)):
                return False
            await api.bind(pod, node_name)
            return True

        return bind

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()
