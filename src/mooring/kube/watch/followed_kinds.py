"""Which kinds of objects a scheduler has to follow: those its plugins read or wait for, and no others.

A plugin says what it reads through listers in its `reads`, and what it waits for in its `events`. A kind
of Kubernetes goes by its name (`Service`); any other by group, version and plural.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mooring.engine.engine import Engine
from mooring.engine.queue.hints import interests_of
from mooring.framework.api.events import ANY, ASSIGNED_POD, NODE, POD, UNSCHEDULABLE_POD
from mooring.framework.api.plugin import Plugin
from mooring.kube.resources import BY_KIND

ALWAYS = frozenset({POD, NODE})

# What a plugin that waits for anything at all is woken by, as in kube-scheduler; but for resource claims
# and device classes: a pod with claims is not placed whatever becomes of them, so nobody has to read them.
ANYTHING = (
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "StorageClass",
)


def kinds_read(engine: Engine) -> frozenset[str]:
    """The kinds an engine has to hear of, with those its plugins have asked a lister for already."""
    plugins = [plugin for profile in engine.profiles.values() for plugin in profile.plugins.values()]
    extended = ANYTHING if engine.extenders is not None else ()
    asked = engine.objects.kinds() & BY_KIND.keys()
    return ALWAYS | kinds_of(plugins) | asked | set(extended)


def kinds_of(plugins: Iterable[Plugin]) -> frozenset[str]:
    """The kinds that plugins read or wait for."""
    return frozenset(kind for plugin in plugins for kind in _kinds_of(plugin))


def _kinds_of(plugin: Plugin) -> Iterator[str]:
    yield from plugin.reads
    for interest in interests_of(plugin):
        yield from _kinds_named(interest.resource)


def _kinds_named(resource: str) -> Iterator[str]:
    """An interest names a kind, or `plural.version.group` as kube-scheduler has it."""
    if resource in (POD, ASSIGNED_POD, UNSCHEDULABLE_POD):
        yield POD
    elif resource == ANY:
        yield from ANYTHING
    elif resource in BY_KIND:
        yield resource
    elif resource.count(".") >= 2:
        plural, version, group = resource.split(".", 2)
        yield f"{group}/{version}/{plural}"
