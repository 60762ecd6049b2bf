"""Looks a plugin class over before it is used: every mistake that can be seen without running it."""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterator
from typing import Any

from mooring.errors import Mistake, PolicyError, did_you_mean
from mooring.framework.api import answers
from mooring.framework.api.kinds import wrong_reads
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.framework.api.points import POINTS
from mooring.framework.api.scope import Scope
from mooring.framework.running.signatures import signature_mistakes


def implemented_points(plugin: type[Plugin]) -> list[str]:
    """The extension points a class has methods for."""
    return [name for name in POINTS if callable(getattr(plugin, name, None))]


def signs_itself(plugin: type[Plugin]) -> bool:
    """Whether the class says what it reads of a pod."""
    return plugin.sign is not Plugin.sign


def pre_filters_some(plugin: type[Plugin]) -> bool:
    """Whether the class says which pods its `pre_filter` has something to say about."""
    return plugin.pre_filters is not Plugin.pre_filters


def pods_concerned(plugin: Plugin, point: str) -> Container[str] | None:
    """The uids a method marked `concerns_only` has something to say about; None: those of any pod."""
    name: str | None = getattr(getattr(plugin, point, None), "concerns_only", None)
    if name is None:
        return None
    table = getattr(plugin, name, None)
    if not isinstance(table, Container):
        what = f"concerns_only({name!r}) names no table of the plugin"
        raise answers.failed(plugin.name, point, what)
    return table


def moves_only_with_nodes(plugin: type[Plugin]) -> bool:
    """Whether the class says that its version stays the same as long as no node object changes."""
    return getattr(getattr(plugin.version, "fget", None), "moves_with_nodes", False)


def check_plugin(plugin: type[Plugin]) -> None:
    """Raises PolicyError with every mistake found."""
    mistakes = [
        Mistake(place_of(plugin, name), f"{plugin.__name__}{what}") for name, what in _mistakes(plugin)
    ]
    if mistakes:
        raise PolicyError(mistakes)


def place_of(plugin: type[Plugin], attribute: str = "") -> str:
    """Where a class, or a method of its own, is written: `file:line:column`."""
    target: Any = getattr(plugin, attribute, None) if attribute else plugin
    if not inspect.isroutine(target) or target is getattr(Plugin, attribute, None):
        target = plugin
    try:
        file = inspect.getsourcefile(target) or ""
        lines, line = inspect.getsourcelines(target)
    except (OSError, TypeError):
        return f"{plugin.__module__}.{plugin.__qualname__}"
    return f"{file}:{line}:{len(lines[0]) - len(lines[0].lstrip()) + 1}"


def built_in(plugin: type[Plugin]) -> bool:
    """Whether a plugin is Mooring's own, rather than a policy."""
    return plugin.__module__.partition(".")[0] == "mooring"


def source_of(plugin: type[Plugin]) -> object:
    """What tells two classes of one name apart: the file they are written in, or else themselves."""
    try:
        return inspect.getsourcefile(plugin) or plugin
    except TypeError:
        return plugin


def _mistakes(plugin: type[Plugin]) -> Iterator[tuple[str, str]]:
    yield from _misdeclared(plugin)
    found = implemented_points(plugin)
    if not found:
        yield "", " implements no extension point"
    for name in found:
        for what in signature_mistakes(plugin, POINTS[name]):
            yield name, f".{name}{what}"
    yield from _misspelt(plugin)
    for name, needs in (("unreserve", "reserve"), ("pre_bind_pre_flight", "pre_bind")):
        if name in found and needs not in found:
            yield name, f" has {name} but no {needs}"
    if "normalize" in found and not {"score", "score_nodes"} & set(found):
        yield "normalize", " has normalize but no score"


def _misdeclared(plugin: type[Plugin]) -> Iterator[tuple[str, str]]:
    """What the attributes say that cannot be."""
    if not (isinstance(plugin.name, str) and plugin.name):
        yield "", f".name is {plugin.name!r}: it must be a word"
    if not isinstance(plugin.scope, Scope):
        yield "", f".scope is {plugin.scope!r}: it must be one of Scope.STATIC, ROW, DOMAIN or CLUSTER"
    for what in wrong_reads(plugin.reads):
        yield "", what
    if not isinstance(plugin.amounts_only, bool):
        yield "", f".amounts_only is {plugin.amounts_only!r}: it must be True or False"
    elif plugin.amounts_only:
        if plugin.scope is not Scope.ROW:
            yield "", ".amounts_only is for plugins of Scope.ROW"
        for one in ("filter", "score"):
            if hasattr(plugin, one) and not hasattr(plugin, f"{one}_nodes"):
                yield one, f".amounts_only needs {one}_nodes: amounts are judged many at a time"
    if not (isinstance(plugin.Args, type) and issubclass(plugin.Args, PluginArgs)):
        yield "", ".Args must be a subclass of PluginArgs"


def _misspelt(plugin: type[Plugin]) -> Iterator[tuple[str, str]]:
    """Methods that look like an extension point and are none."""
    for name, value in vars(plugin).items():
        if name.startswith("_") or not inspect.isfunction(value) or hasattr(Plugin, name) or name in POINTS:
            continue
        plain = name.replace("_", "").lower()
        same = [point for point in POINTS if point.replace("_", "") == plain]
        if same:
            yield name, f'.{name} is no extension point. Did you mean "{same[0]}"?'
        elif _takes_a_cycle(value) and (near := did_you_mean(name, list(POINTS))):
            yield name, f".{name} is no extension point.{near}"


def _takes_a_cycle(function: Any) -> bool:
    return "cycle" in inspect.signature(function).parameters
