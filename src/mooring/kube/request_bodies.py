"""The bodies of what a scheduler writes, as bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from mooring.model.objects import Pod, PodCondition

_encode = msgspec.json.Encoder().encode

# A template costs half of what encoding an object costs, and this is written once for each pod.
BINDING = (
    b'{"apiVersion":"v1","kind":"Binding","metadata":{"name":%b,"namespace":%b,"uid":%b},'
    b'"target":{"apiVersion":"v1","kind":"Node","name":%b}}'
)


def binding(pod: Pod, node_name: str) -> bytes:
    """Binds the very pod to a node: one of the same name that came after it is not meant."""
    meta = pod.metadata
    return BINDING % (_encode(meta.name), _encode(meta.namespace), _encode(meta.uid), _encode(node_name))


def for_very(pod: Pod, patch: dict[str, Any]) -> dict[str, Any]:
    """A patch that the server refuses when the pod's name belongs to another one by now."""
    return {**patch, "metadata": {**(patch.get("metadata") or {}), "uid": pod.uid}}


def timestamp(seconds: float) -> str:
    """A moment as the API server writes it, to the second."""
    return _second(int(seconds)) + "Z"


def micro_timestamp(seconds: float) -> str:
    """A moment to the microsecond, as in Events and Leases."""
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1_000_000):06}Z"


@lru_cache(8)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class StatusPatch(msgspec.Struct, frozen=True):
    """What is to change in a pod's status. `nominated` None leaves the nomination alone, "" clears it."""

    condition: PodCondition | None = None
    transition: str = ""  # when the condition's status changed; "" when it did not
    nominated: str | None = None

    def __bool__(self) -> bool:
        return self.condition is not None or self.nominated is not None

    def body(self, pod: Pod) -> bytes:
        """A strategic merge patch of the very pod: conditions of other types stay as they are."""
        status: dict[str, Any] = {}
        if self.condition is not None:
            status["conditions"] = [_condition(self.condition, self.transition)]
        if self.nominated is not None:
            status["nominatedNodeName"] = self.nominated or None
        return _encode({"metadata": {"uid": pod.uid}, "status": status})


def _condition(condition: PodCondition, transition: str) -> dict[str, Any]:
    data: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastProbeTime": None,
    }
    if condition.observed_generation:
        data["observedGeneration"] = condition.observed_generation
    if transition:
        data["lastTransitionTime"] = transition
    return data
