"""The words and numbers a policy is written with: in its code, what that refers to, and its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import msgspec

DEPTH = 4  # of functions that refer to functions
PROMISES = ("name", "scope", "reads", "amounts_only")
KNOWS_NOTHING = ("mooring.framework", "mooring.model", "mooring.cluster")  # of what a policy is about


def values_of(policy: type) -> Iterator[object]:
    """Those of a class and of what it is made from."""
    seen: set[int] = set()
    for each in policy.__mro__:
        if not _framework(each.__module__):
            yield from values_in(_own(each), 0, seen)


def values_in(value: object, depth: int = 0, seen: set[int] | None = None) -> Iterator[object]:
    """Those in a value; of a function those it refers to."""
    seen = set() if seen is None else seen
    value = _plain(value)
    if isinstance(value, (str, int)):
        yield value
    elif depth <= DEPTH and id(value) not in seen:
        seen.add(id(value))
        for part in _parts(value):
            yield from values_in(part, depth + 1, seen)


def _plain(value: Any) -> Any:
    """A function without what is around it; what a member of an Enum stands for."""
    value = getattr(value, "__func__", value)
    value = value.fget if isinstance(value, property) else value
    value = getattr(value, "__wrapped__", value)
    return value.value if isinstance(value, Enum) else value


def _parts(value: Any) -> list[Any]:
    match value:
        case list() | tuple():
            return list(value)
        case set() | frozenset():
            return sorted(value, key=str)  # what comes first must not depend on the process
        case Mapping():
            return [*value.keys(), *value.values()]
        case FunctionType():
            return [*_of_code(value.__code__, value.__globals__), *_enclosed(value)]
        case msgspec.Struct():
            return [getattr(value, name) for name in value.__struct_fields__]
        case type() if not _framework(value.__module__):
            return _own(value)
    return []


def _enclosed(function: FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]


def _of_code(code: CodeType, names: Mapping[str, Any]) -> Iterator[Any]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _of_code(const, names)
        elif const is not True and const is not False:
            yield const
    for value in [names[name] for name in code.co_names if name in names]:
        module = getattr(value, "__module__", None) or ""
        if not isinstance(value, ModuleType) and not _framework(module):
            yield value


def _own(kind: type) -> list[Any]:
    """What a class says itself, but for how it is called and what it promises."""
    own = vars(kind).items()
    return [
        v for name, v in own if name not in PROMISES and (name == "__init__" or not name.startswith("__"))
    ]


def _framework(module: str) -> bool:
    return module == "builtins" or module.startswith(KNOWS_NOTHING)
