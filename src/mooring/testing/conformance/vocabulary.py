"""The words a policy knows: keys it reads, and what its code and arguments compare with.

Keys are heard while it reads labels and annotations. Words and numbers are found in its code, in what its code
refers to, and in its arguments; so a label that only one value of makes a difference gets that value.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

import msgspec

from mooring.framework.api.plugin import Plugin

WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")  # what a label may say, and a name be
KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9][-A-Za-z0-9_.]*")
LONGEST, MOST_WORDS, LARGEST = 63, 40, 2**31
DEPTH = 4  # of functions that refer to functions
PROMISES = ("name", "scope", "reads", "amounts_only")
PLAIN = ("a", "b")  # words that mean nothing to anybody
ROLES = ("pod label", "pod annotation", "node label", "node annotation")


class Vocabulary:
    """What one policy is known to read; grows while it is watched."""

    def __init__(self, policy: type[Plugin], args: object) -> None:
        self.module = policy.__module__
        self.read: dict[str, dict[str, None]] = {role: {} for role in ROLES}  # keys, by whose they are
        found = list(dict.fromkeys([*_values(args, 0), *_of_class(policy)]))
        texts = [text for text in found if isinstance(text, str) and 0 < len(text) <= LONGEST]
        numbers = {n for n in found if type(n) is int and 0 < n < LARGEST}
        self.numbers = tuple(sorted(numbers))
        self.words = tuple(text for text in texts if WORD.fullmatch(text))[:MOST_WORDS]
        self.keys = tuple(_keys(texts))[:MOST_WORDS]
        self.images = tuple(text + "app:1" if text.endswith("/") else text for text in texts if " " not in text)
        self.plain: tuple[str, ...] = PLAIN
        self.changed: list[str] = []  # what the policy has written to, where it may only read

    def heard(self, role: str, key: str) -> None:
        if isinstance(key, str) and key not in self.read[role] and KEY.fullmatch(key):
            self.read[role][key] = None

    def is_of_policy(self, module: str) -> bool:
        return not module.startswith("mooring.") or module == self.module


class Heard(dict[str, str]):
    """Labels or annotations that tell which keys the policy asks for, and whether it changes any."""

    __slots__ = ("_role", "_vocabulary")

    def __init__(self, given: Mapping[str, str], role: str, vocabulary: Vocabulary) -> None:
        super().__init__(given)
        self._role, self._vocabulary = role, vocabulary

    def _asked(self, key: str) -> None:
        if self._vocabulary.is_of_policy(sys._getframe(2).f_globals.get("__name__", "")):
            self._vocabulary.heard(self._role, key)

    def __getitem__(self, key: str) -> str:
        self._asked(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._asked(key)  # type: ignore[arg-type]
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._asked(key)
        return super().get(key, default)

    def __deepcopy__(self, memo: object) -> dict[str, str]:
        return dict(self)

    def _changed(self, *arguments: Any, **more: Any) -> Any:
        self._vocabulary.changed.append(f"the {self._role}s are changed")

    __setitem__ = __delitem__ = _changed
    __ior__ = pop = popitem = clear = update = setdefault = _changed  # type: ignore[assignment]


def _keys(texts: Iterable[str]) -> Iterator[str]:
    """Words that may be keys; of those that are the beginning of one, two that begin so."""
    for text in texts:
        if text.endswith(("/", "-", ".")):
            yield from (text + plain for plain in PLAIN if KEY.fullmatch(text + plain))
        elif KEY.fullmatch(text) and not text[0].isupper():
            yield text


def _of_class(policy: type) -> Iterator[object]:
    """Classes of Mooring's own that a policy is made from know nothing of what it is about."""
    seen: set[int] = set()
    for each in policy.__mro__:
        if not _framework(each.__module__):
            yield from _values(_own(each), 0, seen)


def _own(kind: type) -> list[object]:
    """What a class says itself, but for how it is called and what it promises."""
    return [value for name, value in vars(kind).items() if name not in PROMISES and (name == "__init__" or not name.startswith("__"))]


def _framework(module: str) -> bool:
    return module == "builtins" or module.startswith(("mooring.framework", "mooring.model", "mooring.cluster"))


def _values(value: object, depth: int, seen: set[int] | None = None) -> Iterator[object]:
    """The words and numbers in a value; of a function those it refers to."""
    seen = set() if seen is None else seen
    value = getattr(value, "__func__", value)
    if isinstance(value, property):
        value = value.fget
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, (str, int)):
        yield value
        return
    if depth > DEPTH or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        value = (*value.keys(), *value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        # What a set tells first must not depend on the process.
        for each in sorted(value, key=str) if isinstance(value, (set, frozenset)) else value:
            yield from _values(each, depth + 1, seen)
    elif isinstance(value, FunctionType):
        yield from _of_code(value.__code__, value.__globals__, depth, seen)
        for cell in value.__closure__ or ():
            try:
                yield from _values(cell.cell_contents, depth + 1, seen)
            except ValueError:
                continue  # not filled yet
    elif isinstance(value, msgspec.Struct):
        yield from _values([getattr(value, name) for name in value.__struct_fields__], depth + 1, seen)
    elif isinstance(value, type) and not _framework(value.__module__):
        yield from _values(_own(value), depth, seen)


def _of_code(
    code: CodeType, names: Mapping[str, Any], depth: int, seen: set[int]
) -> Iterator[object]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _of_code(const, names, depth, seen)
        elif const is not None and const is not True and const is not False:
            yield from _values(const, depth + 1, seen)
    for name in code.co_names:
        value = names.get(name)
        module = getattr(value, "__module__", None) or ""
        if name in names and not isinstance(value, ModuleType) and not _framework(module):
            yield from _values(value, depth + 1, seen)
