"""The reasons plugins can give, collected from their constants.

A reason is a module's constant, or an attribute of a plugin, that is a status with reasons or a text of
more than one word.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import mooring.plugins
import mooring.room
from mooring.framework.api.status import Status

# Texts of constants that no scheduling attempt of the default profile can end with, and why.
UNREACHABLE = {
    "no candidate node for preemption": "said when an extender leaves none (tests/extenders)",
    "there is no API server to bind the pod with": "said while binding",
    "there is no API server to bind volumes with": "said while binding",
    "binding volumes: context deadline exceeded": "said while binding",
    "binding volumes: {}": "said while binding",
    "pod does not exist any more: {}": "said while binding",
    'pv "{}" node affinity doesn\'t match node "{}": no matching NodeSelectorTerms': "said while binding",
    'ClaimRef got reset for pv "{}"': "said while binding",
    'provisioning failed for PVC "{}"': "said while binding",
    'no pod volumes found for node "{}": {}': "the node does not pass any more when it is reserved",
    'node "{}" not found': "the node is gone when it is reserved",
    "shape needs the feature gate StorageCapacityScoring": "said of a configuration",
    "resources not found": "a configuration without resources means cpu and memory",
    'expected at least one victim pod on node "{}"': "the filters disagree with themselves",
}


OF_GANGS = ("mooring.plugins.coscheduling", "mooring.room.for_gang")


def known_reasons() -> frozenset[str]:
    return frozenset(reason for module in _modules() for reason in _reasons(module))


def _modules() -> Iterator[ModuleType]:
    """All but those of gangs, which kube-scheduler does not have: they are given in tests of their own."""
    for package in (mooring.plugins, mooring.room):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(OF_GANGS):
                yield importlib.import_module(found.name)


def _reasons(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if name.isupper():
            yield from _said(value)
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            for attribute in vars(value).values():
                if isinstance(attribute, Status):
                    yield from attribute.reasons


def _said(value: object) -> Iterator[str]:
    if isinstance(value, Status):
        yield from value.reasons
    elif isinstance(value, str) and " " in value:
        yield value
