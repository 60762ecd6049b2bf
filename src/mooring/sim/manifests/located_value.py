"""A value in a document together with where it stands, for checks that name the place.

A spot may be absent: its place is then that of the nearest part that is there, so a mistake about
something missing points at what it is missing from.
"""

from __future__ import annotations

from typing import Any

from mooring.config.document import Document
from mooring.errors import Mistake

Path = tuple[str | int, ...]


class Spot:
    """One value of a document. `base` is where its object begins: messages name paths from there."""

    __slots__ = ("base", "document", "path", "value")

    def __init__(self, document: Document, path: Path, value: Any, base: Path = ()) -> None:
        self.document = document
        self.path = path
        self.value = value
        self.base = base

    @classmethod
    def of_object(cls, document: Document, path: Path, value: Any) -> Spot:
        return cls(document, path, value, path)

    def child(self, *keys: str) -> Spot:
        """The value under the keys; its `value` is None when any of them is absent."""
        value = self.value
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return Spot(self.document, (*self.path, *keys), value, self.base)

    def items(self) -> list[Spot]:
        """The elements of a list; nothing for anything else."""
        if not isinstance(self.value, list):
            return []
        return [
            Spot(self.document, (*self.path, index), element, self.base)
            for index, element in enumerate(self.value)
        ]

    def entries(self) -> list[Spot]:
        """The values of a mapping; nothing for anything else."""
        if not isinstance(self.value, dict):
            return []
        return [self.child(key) for key in self.value if isinstance(key, str)]

    @property
    def name(self) -> str:
        """The path from the object, as people write it: `spec.containers[0].image`."""
        return dotted(self.path[len(self.base) :])

    @property
    def place(self) -> str:
        return self.document.place(self.path)

    def wrong(self, what: str) -> Mistake:
        """A mistake about this value: its path, the value itself, and what is wrong with it."""
        shown = f' "{self.value}"' if isinstance(self.value, str) else f" {self.value}"
        return Mistake(self.place, f"{self.name}{shown} {what}.")

    def note(self, what: str) -> Mistake:
        """A mistake about this value in words of its own, made a sentence."""
        end = "" if what.endswith((".", "?")) else "."
        return Mistake(self.place, f"{self.name}{what}{end}")

    def missing(self) -> Mistake:
        return Mistake(self.place, f"{self.name} is missing.")


def is_live(spot: Spot) -> bool:
    """Whether an object was taken from a running cluster."""
    meta = spot.child("metadata")
    return bool(meta.child("uid").value and meta.child("resourceVersion").value)


def dotted(path: Path) -> str:
    """`("spec", "containers", 0)` as `spec.containers[0]`; keys with dots or slashes in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif "." in step or "/" in step:
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text
