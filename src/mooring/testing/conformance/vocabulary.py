"""The words a policy knows: keys it reads, and what its code and arguments compare with.

Keys are heard while it reads labels and annotations. Words and numbers are those it is written with: a label
of which one value makes a difference gets that value.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mooring.framework.api.plugin import Plugin
from mooring.testing.conformance.constants import values_in, values_of

WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")  # what a label may say, and a name be
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9][-A-Za-z0-9_.]*")
LONGEST, MOST_WORDS, LARGEST = 63, 40, 2**31
PLAIN = ("a", "b", "true")  # words that mean nothing to anybody
ROLES = ("pod label", "pod annotation", "node label", "node annotation")


class Vocabulary:
    """What one policy is known to read; grows while it is watched."""

    def __init__(self, policy: type[Plugin], args: object) -> None:
        self.module = policy.__module__
        self.read: dict[str, dict[str, None]] = {role: {} for role in ROLES}  # keys, by whose they are
        found = list(dict.fromkeys([*values_in(args), *values_of(policy)]))
        texts = [text for text in found if isinstance(text, str) and 0 < len(text) <= LONGEST]
        numbers = {n for n in found if type(n) is int and 0 < n < LARGEST}
        self.numbers = tuple(sorted(numbers))
        self.words = tuple(text for text in texts if WORD.fullmatch(text))[:MOST_WORDS]
        self.keys = tuple(_keys(texts))[:MOST_WORDS]
        self.names = tuple(dict.fromkeys(name for text in texts if NAME.fullmatch(name := text.strip("-./"))))
        self.images = tuple(
            text + "app:1" if text.endswith("/") else text for text in texts if " " not in text
        )
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

    def _asked(self, key: Any) -> None:
        if self._vocabulary.is_of_policy(sys._getframe(2).f_globals.get("__name__", "")):
            self._vocabulary.heard(self._role, key)

    def __getitem__(self, key: str) -> str:
        self._asked(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._asked(key)
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._asked(key)
        return super().get(key, default)

    def __deepcopy__(self, memo: object) -> dict[str, str]:
        return dict(self)

    def _changed(self, *arguments: Any, **more: Any) -> Any:
        self._vocabulary.changed.append(f"the {self._role}s are changed")

    __setitem__ = __delitem__ = _changed
    __ior__ = pop = popitem = clear = update = setdefault = _changed


def _keys(texts: Iterable[str]) -> Iterator[str]:
    """Words that may be keys; of those that are the beginning of one, two that begin so."""
    for text in texts:
        if text.endswith(("/", "-", ".")):
            yield from (text + plain for plain in PLAIN if KEY.fullmatch(text + plain))
        elif KEY.fullmatch(text) and not text[0].isupper():
            yield text
