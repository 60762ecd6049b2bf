"""How large, how deep and how much repeated a text may be, found before anything is built from it.

Building takes memory and stack for every value, and an alias stands for all that its anchor holds: nine short
lines can stand for a billion values. So a text is looked through first, as a stream that costs neither.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import TextIO

import yaml

from mooring.errors import Mistake

DEEPEST = 100  # levels; the deepest definitions of real clusters have some forty
MOST_VALUES = 5_000_000  # in one text of YAML: a value takes half a kilobyte until it is read
MOST_REPEATED = 1_000_000  # values that aliases stand for
LARGEST = 512 * 1024 * 1024  # bytes of a file: the pods of the largest cluster, as JSON

TOO_DEEP = f"nested too deeply: {DEEPEST} levels are the most."
TOO_MANY = (
    f"too much in one text: {MOST_VALUES} values are the most. JSON may hold more, or use several files."
)
TOO_MUCH_REPEATED = f"aliases stand for too much: {MOST_REPEATED} values are the most."
TOO_LARGE = f"larger than {LARGEST // 1024**2} MiB"

_STRINGS_OF_JSON = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


def read_bounded(path: Path) -> str:
    """The text of a file. A file that is too large is an OSError, as one that cannot be read."""
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, TOO_LARGE)
    return content.decode("utf-8")


def read_bounded_stream(stream: TextIO) -> str:
    text = stream.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise OSError(errno.EFBIG, TOO_LARGE)
    return text


def is_deep_json(text: str) -> bool:
    """Whether brackets outside of strings stand in each other too deeply."""
    depth = 0
    for found in _BRACKETS.finditer(_STRINGS_OF_JSON.sub("", text)):
        depth += 1 if found[0] in "[{" else -1
        if depth > DEEPEST:
            return True
    return False


def excess(text: str, file: str) -> Mistake | None:
    """What is too much about a text of YAML, and where. Syntax errors are left to whoever builds it."""
    tally = _Tally()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if what := tally.add(event):
                mark = event.start_mark
                return Mistake(f"{file}:{mark.line + 1}:{mark.column + 1}", what)
    except (yaml.YAMLError, UnicodeEncodeError):
        pass
    return None


class _Tally:
    """Counts values as they come, and for each anchor how many it stands for, aliases in it included."""

    def __init__(self) -> None:
        self._values = 0
        self._repeated = 0
        self._open: list[tuple[str | None, int]] = []  # collections not ended: anchor, and count before it
        self._sizes: dict[str, int] = {}

    def add(self, event: yaml.Event) -> str:
        """What is too much now; "" while nothing is."""
        if isinstance(event, yaml.CollectionStartEvent):
            self._open.append((event.anchor, self._all))
            self._values += 1
            if len(self._open) > DEEPEST:
                return TOO_DEEP
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self._open.pop()
            if anchor is not None:
                self._sizes[anchor] = self._all - before
        elif isinstance(event, yaml.ScalarEvent):
            self._values += 1
            if event.anchor is not None:
                self._sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            self._repeated += self._sizes.get(event.anchor or "", 1)
        if self._repeated > MOST_REPEATED:
            return TOO_MUCH_REPEATED
        return TOO_MANY if self._values > MOST_VALUES else ""

    @property
    def _all(self) -> int:
        return self._values + self._repeated
