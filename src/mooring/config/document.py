"""YAML and JSON text as plain data that still knows where each value stands.

`read_documents` gives dicts with text keys, lists, strings, numbers, booleans and None; anchors and
merge keys are worked in. Places are found only when asked for. Whatever is wrong with the text
(syntax, a key given twice, an unknown tag, too much of it) is one InputError with all mistakes found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from math import isinf
from typing import Any

import msgspec
import yaml

from mooring.config.bounds import excess, is_deep_json
from mooring.config.scalars import PREFIX, scalar_value, short_tag
from mooring.config.syntax import syntax_mistake
from mooring.errors import InputError, Mistake

Path = Sequence[str | int]

_MERGE = PREFIX + "merge"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")  # JSON has these escapes, YAML has not
_COLLECTIONS = (PREFIX + "map", PREFIX + "seq")


class Origin(msgspec.Struct, frozen=True):
    """A part of a document, remembered for what is found wrong with it later."""

    document: Document
    path: Path

    def place(self, field: Path = ()) -> str:
        """`file:line:column` of a field of it; of the nearest value around, if it is not there."""
        return self.document.place((*self.path, *field))


class Document:
    """One document of a file: its data, and the place of everything in it."""

    __slots__ = ("_node", "_text", "data", "file", "has_nulls")

    def __init__(self, file: str, data: Any, *, node: yaml.Node | None, text: str, has_nulls: bool) -> None:
        self.file = file
        self.data = data
        self.has_nulls = has_nulls
        self._node = node
        self._text = text

    def at(self, path: Path) -> Any:
        """The data at a path; None when there is nothing."""
        data = self.data
        for step in path:
            try:
                data = data[step]
            except (KeyError, IndexError, TypeError):
                return None
        return data

    def node(self, path: Path) -> yaml.Node | None:
        """The node at a path; None when there is nothing."""
        node = self._root()
        for step in path:
            pair = None if node is None else _child(node, step)
            node = None if pair is None else pair[1]
        return node

    def part(self, path: Path) -> Document:
        """What is at a path as a document of its own, with the places it has in this one."""
        return Document(self.file, self.at(path), node=self.node(path), text="", has_nulls=self.has_nulls)

    def place(self, path: Path = (), *, key: bool = False) -> str:
        """`file:line:column` of the value at a path, or of its key.

        A path that leads nowhere has the place of the nearest value around it.
        """
        node = self._root()
        if node is None:
            return f"{self.file}:1:1"
        mark = node.start_mark
        for depth, step in enumerate(path, start=1):
            pair = _child(node, step)
            if pair is None:
                break
            key_node, node = pair
            mark = key_node.start_mark if key and depth == len(path) else node.start_mark
        return _place(self.file, mark)

    def _root(self) -> yaml.Node | None:
        """The composed text; JSON is composed only when a place is asked for."""
        if self._node is None:
            text = _SURROGATE.sub("??????", self._text)
            try:
                if excess(text, self.file) is None:
                    self._node = yaml.compose(text, Loader=yaml.CSafeLoader)
            except (yaml.YAMLError, UnicodeEncodeError):
                return None  # JSON that is no YAML
        return self._node


def read_documents(text: str, file: str) -> list[Document]:
    """Every document of a text that is not empty; InputError with all mistakes."""
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] in ("{", "["):
        document = _read_json(text, file)
        if document is not None:
            return [document]
    return _read_yaml(text, file)


def _read_json(text: str, file: str) -> Document | None:
    """The document, if the text is JSON without mistakes; else the YAML reader says what is wrong."""
    if is_deep_json(text):
        return None
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except ValueError:
        return None
    return Document(file, data, node=None, text=text, has_nulls="null" in text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key is given twice")
    return data


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise ValueError(f"{digits} is too large")
    return number


def _read_yaml(text: str, file: str) -> list[Document]:
    if (much := excess(text, file)) is not None:
        raise InputError([much])
    documents: list[Document] = []
    mistakes: list[Mistake] = []
    try:
        for node in yaml.compose_all(text, Loader=yaml.CSafeLoader):
            builder = _Builder(file, mistakes)
            data = builder.build(node)
            if data is not None:
                documents.append(Document(file, data, node=node, text="", has_nulls=builder.has_nulls))
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        mistakes.append(syntax_mistake(error, text, file))
    if mistakes:
        raise InputError(mistakes)
    return documents


class _Builder:
    """Builds the data of one document from its nodes, noting mistakes."""

    def __init__(self, file: str, mistakes: list[Mistake]) -> None:
        self.has_nulls = False
        self._file = file
        self._mistakes = mistakes
        self._built: dict[yaml.Node, Any] = {}  # an anchored node is built once, however often it is used
        self._open: set[yaml.Node] = set()

    def build(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if node in self._built:
            return self._built[node]
        if node in self._open:
            return self._mistake(node, "an anchor cannot contain itself.")
        self._open.add(node)
        data = self._collection(node)
        self._open.discard(node)
        self._built[node] = data
        return data

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        try:
            value = scalar_value(node.tag, node.value, plain=not node.style)
        except ValueError as error:
            return self._mistake(node, str(error))
        if value is None:
            self.has_nulls = True
        return value

    def _collection(self, node: yaml.Node) -> Any:
        if node.tag not in _COLLECTIONS:
            return self._mistake(node, f'tag "{short_tag(node.tag)}" is not understood.')
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        return [self.build(item) for item in node.value]

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        data: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        seen: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._mistake(key, "a key must be a single value, not a list or a mapping.")
            elif key.value in seen:
                first = seen[key.value].start_mark.line + 1
                self._mistake(key, f'key "{key.value}" is given twice; the first is on line {first}.')
            else:
                seen[key.value] = key
                if key.tag == _MERGE:
                    merged = self._merged(value)
                else:
                    data[key.value] = self.build(value)
        return {**merged, **data} if merged else data

    def _merged(self, node: yaml.Node) -> dict[str, Any]:
        """What a merge key brings in; of several mappings the first has the last word."""
        merged: dict[str, Any] = {}
        for source in reversed(_sources(node)):
            if isinstance(source, yaml.MappingNode):
                merged.update(self.build(source) or {})
            else:
                self._mistake(source, "a merge key takes a mapping or a list of mappings.")
        return merged

    def _mistake(self, node: yaml.Node, what: str) -> None:
        self._mistakes.append(Mistake(_place(self._file, node.start_mark), what))


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Key node and value node of one step; a list's element is its own key."""
    if isinstance(node, yaml.SequenceNode):
        fits = isinstance(step, int) and 0 <= step < len(node.value)
        return (node.value[step], node.value[step]) if fits else None
    if isinstance(node, yaml.MappingNode):
        return next(_named(node, step, ()), None)
    return None


def _named(
    node: yaml.MappingNode, step: str | int, inside: tuple[yaml.Node, ...]
) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """Every pair of a mapping with a given key, the one that counts first."""
    for key, value in node.value:
        if key.value == step and key.tag != _MERGE:
            yield key, value
    for key, value in node.value:
        if key.tag == _MERGE:
            for source in _sources(value):
                if isinstance(source, yaml.MappingNode) and source not in inside:
                    yield from _named(source, step, (*inside, node))


def _sources(node: yaml.Node) -> list[yaml.Node]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else [node]


def _place(file: str, mark: yaml.Mark) -> str:
    return f"{file}:{mark.line + 1}:{mark.column + 1}"
