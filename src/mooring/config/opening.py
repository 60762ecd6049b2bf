"""Finds the configuration in a file as people keep it: alone, among other objects, in a List or ConfigMap.

A configuration that is the text of a ConfigMap keeps the places it has in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from mooring.config.document import Document, read_documents
from mooring.config.older.successors import GROUP
from mooring.config.scheduler import KIND
from mooring.errors import ConfigError, InputError, Mistake

CONFIG_MAP = "ConfigMap"
POLICY = "Policy"
_SIGNS = (KIND, GROUP, POLICY)  # one of these is in every text that holds a configuration
_MARKERS = ("---", "...", "%")  # begin a document only where nothing is indented


class Opened(msgspec.Struct, frozen=True):
    """A configuration, and what is worth knowing of how it was found."""

    document: Document
    source: str
    remarks: tuple[Mistake, ...] = ()


def open_configuration(text: str, file: str) -> Opened:
    """The only configuration in a text; ConfigError when there is none, or more than one."""
    try:
        documents = read_documents(text, file)
        found = [(each, one) for each in documents for one in _configurations(each, text)]
    except InputError as error:
        raise ConfigError(error.mistakes) from None
    if not documents:
        raise ConfigError.at(f"{file}:1:1", f"the file is empty; expected a {KIND}.")
    if len(found) > 1:
        which = "; ".join(opened.source for _, opened in found)
        raise ConfigError.at(found[1][1].document.place(), f"expected one {KIND}, got {len(found)}: {which}.")
    if not found:
        return Opened(_alone(documents), "")
    ((around, opened),) = found
    others = [each for each in documents if each is not around]
    return msgspec.structs.replace(opened, remarks=tuple(_remarks(opened, around, others)))


def _alone(documents: list[Document]) -> Document:
    """The document that was meant to be one; its header says what is wrong with it."""
    first = documents[0]
    kinds = [_kind(document) or "a document without kind" for document in documents]
    if len(documents) > 1:
        raise ConfigError.at(first.place(), f"expected a {KIND}, got {', '.join(kinds)}.")
    if kinds[0] == CONFIG_MAP:
        keys = ", ".join(f'"{key}"' for key in _texts(first.data)) or "nothing"
        raise ConfigError.at(first.place(), f"{_named(first)} holds no {KIND}; in its data is {keys}.")
    if kinds[0].endswith("List"):
        raise ConfigError.at(first.place(), f"the {kinds[0]} holds no {KIND}.")
    return first


def _remarks(opened: Opened, around: Document, others: list[Document]) -> Iterator[Mistake]:
    if opened.document is not around:
        yield Mistake(opened.document.place(), f"the configuration is {opened.source}.")
    for other in others:
        if not _kind(other):
            raise ConfigError.at(other.place(), f"expected one {KIND}, got a second document.")
    if passed := [f"{_kind(other)} {_name(other)}".strip() for other in others]:
        yield Mistake(others[0].place(), f"not read here: {', '.join(passed)}.")


def _configurations(document: Document, text: str) -> Iterator[Opened]:
    data = document.data
    if is_configuration(data):
        yield Opened(document, f"the document on line {_line(document.place())}")
    elif _kind(document) == CONFIG_MAP:
        for key, value in _texts(data).items():
            if any(sign in value for sign in _SIGNS):
                yield from _inside(document, key, value, text)
    elif _kind(document).endswith("List") and isinstance(data.get("items"), list):
        for index in range(len(data["items"])):
            yield from _configurations(document.part(("items", index)), text)


def _inside(document: Document, key: str, value: str, text: str) -> Iterator[Opened]:
    """The configurations in one text of a ConfigMap."""
    node = document.node(("data", key))
    raw = _as_written(node, value, text)
    label = document.file if raw is not None else f"{document.file}[{key}]"
    at = f'"{key}" of {_named(document)} on line {_line(document.place(("data", key), key=True))}'
    for each in read_documents(value if raw is None else raw, label):
        if is_configuration(each.data):
            yield Opened(each, at)


def _as_written(node: yaml.Node | None, value: str, text: str) -> str | None:
    """The lines of a literal block where they stand in the file, so that places are the file's; else None."""
    if not isinstance(node, yaml.ScalarNode) or node.style != "|":
        return None
    lines = text.removeprefix("\ufeff").split("\n")
    begin, end = node.start_mark.line + 1, node.end_mark.line + (node.end_mark.column > 0)
    inner, body = value.split("\n"), lines[begin:end]
    markers = [number for number, line in enumerate(inner) if line.startswith(_MARKERS)]
    if markers and (markers != [0] or inner[0].strip() != "---"):
        return None
    if markers:
        body[0] = ""
    return "\n" * begin + "\n".join(body)


def is_configuration(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    return data.get("kind") == KIND or is_policy(data) or str(data.get("apiVersion")).startswith(GROUP)


def is_policy(data: Any) -> bool:
    """A scheduling Policy, as there was before KubeSchedulerConfiguration."""
    if not isinstance(data, dict) or data.get("kind") != POLICY:
        return False
    return data.get("apiVersion") in (None, "v1") and bool(
        {"predicates", "priorities", "extenders"} & set(data)
    )


def _texts(data: dict[str, Any]) -> dict[str, str]:
    held = data.get("data")
    return {k: v for k, v in held.items() if isinstance(v, str)} if isinstance(held, dict) else {}


def _kind(document: Document) -> str:
    kind = document.data.get("kind") if isinstance(document.data, dict) else None
    return kind if isinstance(kind, str) else ""


def _name(document: Document) -> str:
    meta = document.data.get("metadata")
    names = [meta.get(each) for each in ("namespace", "name")] if isinstance(meta, dict) else []
    return "/".join(str(name) for name in names if name)


def _named(document: Document) -> str:
    return f"{_kind(document)} {_name(document)}".strip()


def _line(place: str) -> str:
    return place.rsplit(":", 2)[1]
