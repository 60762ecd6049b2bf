"""DefaultBinder: binds a pod to its node through the API server."""

from __future__ import annotations

from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import Status, error
from mooring.model.objects import Pod

NO_API = "there is no API server to bind the pod with"


class DefaultBinder(Plugin):
    name = "DefaultBinder"

    async def bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        api = self.handle.api
        if api is None:
            return error(NO_API)
        try:
            await api.bind(pod, node_name)
        except Exception as refusal:
            return error(str(refusal))  # the server's words; a refusal is no mistake of this plugin
        return None
