"""Plain data against a msgspec type: the value, or every mistake at once with its place.

msgspec makes the values but stops at the first mistake and knows no places. So a walk over the data
looks for all mistakes and leaves out nulls (which count as absent); what passes goes to msgspec.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import msgspec
from msgspec import inspect

from mooring.config.document import Document, Path
from mooring.config.walk import MISSING, Walk
from mooring.errors import Mistake, wants_the_end

T = TypeVar("T")

_WHERE = re.compile(r"(?s)(.*) - at `(?:key in )?\$(.*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")


@runtime_checkable
class FromText(Protocol):
    """A field type of one's own, written as text: `Duration` is one. ValueError says what is wrong."""

    @classmethod
    def parse(cls, text: str) -> Any: ...


def convert(
    document: Document,
    path: Path,
    target: type[T],
    *,
    ignore_unknown: bool = False,
    allowed: Collection[str] = (),
) -> tuple[T | None, list[Mistake]]:
    """The value at a path as `target`, or None and all mistakes.

    `ignore_unknown` is for manifests, of which only some fields are modelled. `allowed` names
    fields the outermost Struct does not have but may be given.
    """
    if ignore_unknown and not document.has_nulls:
        value = _at_once(document.at(path), target)
        if value is not None:
            return value, []
    value, mistakes = salvage(document, path, target, ignore_unknown=ignore_unknown, allowed=allowed)
    return (None, mistakes) if mistakes else (value, [])


def salvage(
    document: Document,
    path: Path,
    target: type[T],
    *,
    ignore_unknown: bool = False,
    allowed: Collection[str] = (),
) -> tuple[T | None, list[Mistake]]:
    """As `convert`, but with mistakes there may still be a value: of all that is right.

    What is wrong is left out, and has its default. In a list of Structs that need nothing, a wrong
    one becomes an empty one, so that indexes stay those of the file.
    """
    walk = Walk(document, ignore_unknown=ignore_unknown, decode=decode)
    sound = walk.check(tuple(path), document.at(path), _type_info(cast(Any, target)), allowed)
    if sound is MISSING:
        return None, walk.mistakes
    if walk.mistakes:
        return _at_once(sound, target), walk.mistakes
    try:
        return msgspec.convert(sound, target, dec_hook=decode), []
    except msgspec.ValidationError as error:
        return None, [_located(document, path, error)]


def _at_once(data: Any, target: type[T]) -> T | None:
    """The value if nothing is wrong: the quick way through thousands of manifests."""
    try:
        return msgspec.convert(data, target, dec_hook=decode)
    except BaseException as error:  # a __post_init__ may raise anything; the walk finds and places it
        if wants_the_end(error):
            raise
        return None


@cache
def _type_info(target: Any) -> inspect.Type:
    return inspect.type_info(target)


def decode(target: Any, data: Any) -> Any:
    """What msgspec calls for types it does not know."""
    if isinstance(target, FromText) and isinstance(data, str):
        return target.parse(data)
    if isinstance(data, target):
        return data
    raise ValueError(f"cannot be read as {target.__name__}.")


def _located(document: Document, path: Path, error: msgspec.ValidationError) -> Mistake:
    """msgspec's own complaint, for rules the walk does not know (lengths, patterns, tags)."""
    found = _WHERE.fullmatch(str(error))
    what, where = (found[1], found[2]) if found else (str(error), "")
    steps: list[str | int] = list(path)
    for name, index, any_key in _STEP.findall(where):
        if any_key:
            break
        steps.append(int(index) if index else name)
    return Mistake(document.place(steps), sentence(what.replace("`", "")))


def sentence(what: str) -> str:
    """Small first letter, full stop: the way mistakes are written."""
    text = what.strip()
    head = text[:1].lower() if text[1:2].islower() else text[:1]
    return head + text[1:] + ("" if text.endswith((".", "?")) else ".")
