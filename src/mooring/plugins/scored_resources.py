"""The resources a scoring plugin looks at, as configurations name them."""

from __future__ import annotations

import msgspec

from mooring.errors import ArgsError, FieldMistake
from mooring.model.names import is_scalar_resource
from mooring.model.requests import Request

MOST_WEIGHT = 100


class ResourceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One resource and how much it matters; a weight of 0 stands for 1."""

    name: str
    weight: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= MOST_WEIGHT:
            what = f"resource weight of {self.name} not in valid range (0, {MOST_WEIGHT}]"
            raise ArgsError([FieldMistake(("weight",), what)])


CPU_AND_MEMORY = (ResourceSpec("cpu"), ResourceSpec("memory"))


def bypasses(name: str, amount: int) -> bool:
    """A scalar resource the pod asks nothing of says nothing about how well it fits a node."""
    return not amount and is_scalar_resource(name)


def supposed_amount(request: Request, name: str) -> int:
    """What a pod is supposed to need: something of cpu and memory even when it names none."""
    if name == "cpu":
        return request.nonzero_cpu_milli
    if name == "memory":
        return request.nonzero_memory
    return request.amount(name)
