"""What a policy still knows of pods that are gone."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mooring.cluster.books.book import Book
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Pod

FOLLOWS = ("reserve", "pod_seen")  # whoever has these keeps up with pods
FEW = 8  # pods that may be left: the last ones, say
DEPTH = 3


def still_held(plugin: Plugin, gone: Sequence[Pod]) -> str:
    """How many of the pods are in which table of the plugin; "" when it is few."""
    if not any(hasattr(plugin, point) for point in FOLLOWS):
        return ""
    names = {name for pod in gone for name in (pod.metadata.uid, pod.key)}
    for attribute, value in vars(plugin).items():
        found = {name for name in _mentioned(value, DEPTH) if name in names}
        if len(found) > FEW:
            return f"self.{attribute} still holds {len(found)} of"
    return ""


def _drops_old(value: Any) -> bool:
    return isinstance(value, deque) and value.maxlen is not None


def _mentioned(value: Any, depth: int) -> Iterator[str]:
    """The words and pods in a table. Those that drop what is old by themselves may hold anything."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Pod):
        yield value.metadata.uid
    elif depth == 0 or isinstance(value, (Handle, Book, Plugin, OrderedDict)) or _drops_old(value):
        return
    elif isinstance(value, Mapping):
        for key, each in list(value.items()):
            yield from _mentioned(key, depth - 1)
            yield from _mentioned(each, depth - 1)
    elif isinstance(value, Collection):
        for each in list(value):
            yield from _mentioned(each, depth - 1)
