"""Whether the methods of a plugin take what they are called with, and answer what is understood.

Points are called by position, so names are free, but for a name without type that promises another thing and
is used: `reserve(cycle, pod, node)` expects a node and is given its name. Types are held to what is passed.
"""

from __future__ import annotations

import collections.abc
import dis
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

from mooring.framework.api.plugin import Plugin
from mooring.framework.api.points import Point

WHAT = {  # the kind of thing behind a word that points use
    "cycle": "the cycle",
    "pod": "a pod",
    "added": "a pod",
    "removed": "a pod",
    "victim": "a pod",
    "node": "a node",
    "nodes": "nodes",
    "node_name": "the name of a node",
    "node_names": "names of nodes, or None",
    "statuses": "statuses by node",
    "status": "a status, or None",
    "group": "a group",
    "queued": "a queued pod",
    "ssn": "a session",
}


def signature_mistakes(plugin: type[Plugin], point: Point) -> Iterator[str]:
    """What of a method will fail when it is called."""
    method = inspect.getattr_static(plugin, point.name)
    static = isinstance(method, staticmethod)
    function = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
    if not inspect.isfunction(function):
        return  # a normaliser given as an attribute, say: nothing to look at
    awaits = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if awaits and not point.may_await:
        yield " is async, but it decides, and deciding never awaits: only pre_bind, bind and post_bind may"
    signature = inspect.signature(function)
    if point.name == "normalize" and len(signature.parameters) == 1:
        return  # a plain function of the values, kept as a class attribute
    called = f"it is called with ({', '.join(point.parameters)})"
    own = list(signature.parameters.values())[0 if static else 1 :]
    try:
        bound = signature.bind(*(() if static else ("self",)), *point.parameters)
    except TypeError:
        yield f" takes {_shown(own)}; {called}"
        return
    taken = {passed: name for name, passed in bound.arguments.items() if isinstance(passed, str)}
    typed = _hints(function)
    for passed in point.parameters:
        name = taken.get(passed)
        if name is None or name in typed or not _promises_another(name, passed, point):
            continue
        if _reads(function, name):
            yield f" takes {_shown(own)}; {called}: {name} is {WHAT.get(passed, passed)}"
            return
    yield from _wrong_types(function, point, {name: passed for passed, name in taken.items()})


def _promises_another(name: str, passed: str, point: Point) -> bool:
    """Whether a parameter is named as something that it is not given."""
    if name == passed:
        return False
    return name in point.parameters or (name in WHAT and WHAT[name] != WHAT.get(passed))


def _reads(function: types.FunctionType, name: str) -> bool:
    """Whether the code looks at a parameter: one that it does not look at may be called anything."""
    for each in dis.get_instructions(function):
        names = each.argval if isinstance(each.argval, tuple) else (each.argval,)
        if "LOAD" in each.opname and name in names:
            return True
    return False


def _shown(parameters: list[inspect.Parameter]) -> str:
    bare = [parameter.replace(annotation=parameter.empty) for parameter in parameters]
    return str(inspect.Signature(bare))


def _wrong_types(function: Any, point: Point, passed: dict[str, str]) -> Iterator[str]:
    """Annotations of which no value that is passed, or understood, can be."""
    given, right = _hints(function), _hints(getattr(_typed(), point.name, None))
    for name, passed_as in passed.items():
        if name in given and not _may_be(given[name], right.get(passed_as, Any)):
            yield f" takes {name}: {_word(given[name])}; it is given {_word(right[passed_as])}"
    answer = right.get("return", Any)
    if "return" in given and answer is not type(None) and not _may_be(given["return"], answer):
        yield f" returns {_word(given['return'])}; it must return {_word(answer)}"


def _typed() -> type:
    from mooring.framework.api.typed_points import Points  # which imports what is below plugins, and more

    return Points


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # names that only a type checker knows
        return {}


def _may_be(given: Any, right: Any) -> bool:
    """Whether some value is of both types; True whenever it cannot be told."""
    some, others = _classes(given), _classes(right)
    if some is None or others is None:
        return True
    return any(_related(one, other) for one in some for other in others)


def _related(one: type, other: type) -> bool:
    try:
        return issubclass(one, other) or issubclass(other, one)
    except TypeError:  # a protocol that cannot be asked
        return True


def _classes(hint: Any) -> set[type] | None:
    """The classes a type stands for; None when it may be anything."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        found = [_classes(each) for each in typing.get_args(hint)]
        return None if None in found else set().union(*(each for each in found if each))
    if origin is collections.abc.Callable:
        return None
    plain = origin or hint
    if plain is None:
        return {type(None)}
    return {plain} if isinstance(plain, type) and plain not in (Any, object) else None


def _word(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_word(each) for each in typing.get_args(hint))
    if hint is type(None):
        return "None"
    return SHOWN_AS.get(getattr(hint, "__name__", ""), getattr(hint, "__name__", str(hint)))


SHOWN_AS = {"NodeView": "Node", "Node": "NodeObject", "ndarray": "an array"}  # as `mooring` exports them
