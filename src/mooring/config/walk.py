"""The walk that finds every mistake in plain data, given a msgspec type.

Each check returns the data without nulls and without what is wrong, or MISSING when nothing is left.
"""

from __future__ import annotations

import base64
import binascii
import operator
from collections.abc import Callable, Collection
from typing import Any, Final

import msgspec
from msgspec import inspect

from mooring.config.document import Document
from mooring.config.older.successors import removed_field
from mooring.config.wording import got, not_one_of, wrong_type
from mooring.errors import ArgsError, Mistake, did_you_mean, wants_the_end

MISSING: Final[Any] = object()

Steps = tuple[str | int, ...]

_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)


class Walk:
    """One walk; `mistakes` fills up in the order of the file."""

    def __init__(
        self, document: Document, *, ignore_unknown: bool, decode: Callable[[Any, Any], Any]
    ) -> None:
        self.mistakes: list[Mistake] = []
        self._document = document
        self._ignore_unknown = ignore_unknown
        self._decode = decode

    def check(self, path: Steps, data: Any, kind: inspect.Type, allowed: Collection[str] = ()) -> Any:
        if isinstance(kind, inspect.Metadata):
            return self.check(path, data, kind.type, allowed)
        if isinstance(kind, inspect.StructType):
            return self._struct(path, {} if data is None else data, kind, allowed)
        if isinstance(kind, inspect.UnionType):
            return self._union(path, data, kind)
        if isinstance(kind, inspect.DictType):
            return self._dict(path, data, kind)
        if isinstance(kind, _LISTS):
            return self._list(path, data, kind)
        if isinstance(kind, inspect.CustomType):
            return self._custom(path, data, kind)
        return self._leaf(path, data, kind)

    def note(self, path: Steps, what: str, *, key: bool = False) -> Any:
        self.mistakes.append(Mistake(self._document.place(path, key=key), what))
        return MISSING

    def _struct(self, path: Steps, data: Any, kind: inspect.StructType, allowed: Collection[str]) -> Any:
        if not isinstance(data, dict):
            return self.note(path, wrong_type(kind, data))
        before = len(self.mistakes)
        fields = {field.encode_name: field for field in kind.fields}
        sound: dict[str, Any] = {}
        wrong: set[str] = set()
        for key, value in data.items():
            if key in fields:
                count = len(self.mistakes)
                self._keep(sound, key, value, (*path, key), fields[key].type)
                if len(self.mistakes) > count:
                    wrong.add(key)
            elif key == kind.tag_field:
                sound[key] = value
            elif key not in allowed and not self._ignore_unknown:
                self.note((*path, key), _unknown(key, [*fields, *allowed], kind.cls), key=True)
        absent = [name for name, field in fields.items() if field.required and data.get(name) is None]
        for name in absent:
            self.note(path, f'required field "{name}" is missing.')
        if any(field.required and name not in sound for name, field in fields.items()):
            return MISSING
        return self._made(path, sound, kind, None if len(self.mistakes) == before else wrong)

    def _keep(self, sound: dict[str, Any], key: str, value: Any, path: Steps, kind: inspect.Type) -> None:
        if value is not None:
            checked = self.check(path, value, kind)
            if checked is not MISSING:
                sound[key] = checked

    def _made(
        self, path: Steps, sound: dict[str, Any], kind: inspect.StructType, wrong: Collection[str] | None
    ) -> Any:
        """Lets a Struct's own `__post_init__` judge. If something is wrong already, only what it says of
        fields that are right counts: the rest may follow from what was left out."""
        if not hasattr(kind.cls, "__post_init__"):
            return sound
        right = {key: value for key, value in sound.items() if key not in (wrong or ())}
        try:
            msgspec.convert(right, kind.cls, dec_hook=self._decode)
        except BaseException as error:  # a policy's code may raise anything
            if wants_the_end(error):
                raise
            if isinstance(error.__cause__, ArgsError):
                return self._fields(path, sound, error.__cause__, wrong)
            if wrong is None:
                return self.note(path, _of_its_own(error))
        return sound

    def _fields(
        self, path: Steps, sound: dict[str, Any], error: ArgsError, wrong: Collection[str] | None
    ) -> Any:
        for field, what, beside in error.mistakes:
            if not wrong or not {*field[:1], *beside} & set(wrong):
                self.note((*path, *field), ended(what))
        return MISSING if wrong is None else sound

    def _union(self, path: Steps, data: Any, kind: inspect.UnionType) -> Any:
        kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        if data is None and len(kinds) < len(kind.types):
            return None
        if len(kinds) == 1:
            return self.check(path, data, kinds[0])
        before = len(self.mistakes)
        tries: list[list[Mistake]] = []
        for each in kinds:
            sound = self.check(path, data, each)
            if len(self.mistakes) == before:
                return sound
            tries.append(self.mistakes[before:])
            del self.mistakes[before:]
        return self._closest(path, data, kind, tries)

    def _closest(self, path: Steps, data: Any, kind: inspect.UnionType, tries: list[list[Mistake]]) -> Any:
        """Mistakes deep inside say more than that nothing fits."""
        place = self._document.place(path)
        deep = [found for found in tries if any(mistake.place != place for mistake in found)]
        if len(deep) != 1:
            return self.note(path, wrong_type(kind, data))
        self.mistakes += deep[0]
        return MISSING

    def _dict(self, path: Steps, data: Any, kind: inspect.DictType) -> Any:
        if not isinstance(data, dict):
            return self.note(path, wrong_type(kind, data))
        sound: dict[str, Any] = {}
        for key, value in data.items():
            if value is None and isinstance(kind.value_type, inspect.StrType):
                value = ""  # the API server reads `labels: {a: }` as the empty value
            self._keep(sound, key, value, (*path, key), kind.value_type)
        return sound

    def _list(self, path: Steps, data: Any, kind: Any) -> Any:
        if not isinstance(data, list):
            return self.note(path, wrong_type(kind, data))
        items = [self._item((*path, index), item, kind.item_type) for index, item in enumerate(data)]
        if any(item is MISSING for item in items) and _may_be_empty(kind.item_type):
            return [{} if item is MISSING else item for item in items]
        return [item for item in items if item is not MISSING]

    def _item(self, path: Steps, data: Any, kind: inspect.Type) -> Any:
        if data is None and isinstance(kind, inspect.StructType):
            return self.note(path, wrong_type(kind, data))
        return self.check(path, data, kind)

    def _custom(self, path: Steps, data: Any, kind: inspect.CustomType) -> Any:
        if hasattr(kind.cls, "parse") and not isinstance(data, str):
            return self.note(path, wrong_type(kind, data))
        try:
            self._decode(kind.cls, data)
        except (ValueError, TypeError) as error:
            return self.note(path, str(error))
        return data

    def _leaf(self, path: Steps, data: Any, kind: inspect.Type) -> Any:
        if isinstance(kind, inspect.AnyType):
            return without_nulls(data)
        what = _wrong_leaf(data, kind)
        return self.note(path, what) if what else data


def without_nulls(data: Any) -> Any:
    """The same data without the keys that have no value."""
    if isinstance(data, dict):
        return {key: without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [without_nulls(item) for item in data]
    return data


def _wrong_leaf(data: Any, kind: inspect.Type) -> str:
    """What is wrong with a single value, or nothing."""
    if isinstance(kind, inspect.LiteralType):
        return "" if data in kind.values else not_one_of(kind.values, data)
    if isinstance(kind, inspect.EnumType):
        values = [member.value for member in kind.cls]
        return "" if data in values else not_one_of(values, data)
    if isinstance(kind, inspect.BytesType):
        return "" if _is_base64(data) else wrong_type(kind, data)
    accepted = _PYTHON.get(type(kind))
    if accepted is None:
        return ""  # a type the walk does not know: msgspec judges
    if not isinstance(data, accepted) or (isinstance(data, bool) and accepted is not bool):
        return wrong_type(kind, data)
    return _out_of_range(data, kind) if isinstance(kind, inspect.IntType | inspect.FloatType) else ""


_PYTHON: dict[type[inspect.Type], Any] = {
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: int | float,
    inspect.StrType: str,
    inspect.NoneType: type(None),
    inspect.TupleType: list,
}


def _out_of_range(data: float, kind: inspect.IntType | inspect.FloatType) -> str:
    limits = (
        ("at least", kind.ge, operator.lt),
        ("at most", kind.le, operator.gt),
        ("more than", kind.gt, operator.le),
        ("less than", kind.lt, operator.ge),
    )
    for words, limit, breaks in limits:
        if limit is not None and breaks(data, limit):
            return f"expected {words} {limit}, got {got(data)}."
    return ""


def _is_base64(data: Any) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return False
    return True


def _may_be_empty(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.StructType) and not any(field.required for field in kind.fields)


def _unknown(key: str, known: list[str], struct: type) -> str:
    removed: dict[str, str] = getattr(struct, "removed", {})
    if key in removed:
        return removed_field(key, removed[key])
    return f'unknown field "{key}".{did_you_mean(key, known)}'


def _of_its_own(error: BaseException) -> str:
    if not isinstance(error, ValueError | TypeError):
        return f"{type(error).__name__}: {error}."
    return ended(str(error).partition(" - at `")[0].strip())


def ended(text: str) -> str:
    """With a full stop at its end."""
    return text if text.endswith((".", "?")) else f"{text}."
