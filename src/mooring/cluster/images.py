"""Container images present on nodes: who has which, and how large it is."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from mooring.model.objects import Node

ImageSizes = Mapping[str, int]


class Image:
    """One image name: its size as first reported, and the rows that hold it."""

    __slots__ = ("rows", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.rows: set[int] = set()

    def fork(self) -> Image:
        fork = Image(self.size_bytes)
        fork.rows = self.rows.copy()
        return fork


class Images:
    """Images by name. `version` moves whenever an answer about any image may have changed."""

    def __init__(self) -> None:
        self._images: dict[str, Image] = {}
        self.nodes = 0
        self.version = 0

    def put(
        self, row: int, old: Node | None, new: Node | None, sizes: ImageSizes | None = None
    ) -> ImageSizes:
        """Follows a node object that appeared, changed or went.

        Returns the sizes of the images that were forgotten. Given back as `sizes` with the node as it
        was, they stand again: the first reporter may be long gone.
        """
        gained = (new is not None) - (old is not None)
        if not gained and old and new and old.status.images == new.status.images:
            return {}
        self.nodes += gained
        self.version += 1
        forgotten = {}
        for name in _names(old):
            image = self._images[name]
            image.rows.discard(row)
            if not image.rows:
                forgotten[name] = image.size_bytes
                del self._images[name]
        first = sizes or {}
        for name, size in _names(new).items():
            known = self._images.get(name)
            if known is None:
                known = self._images[name] = Image(first.get(name, size))
            known.rows.add(row)
        return forgotten

    def fork(self) -> Images:
        fork = copy(self)
        fork._images = {name: image.fork() for name, image in self._images.items()}
        return fork

    def find(self, name: str) -> Image | None:
        return self._images.get(name)


def _names(node: Node | None) -> dict[str, int]:
    images = node.status.images if node else ()
    # Backwards, so that of a name listed twice the first entry stays.
    return {name: image.size_bytes for image in reversed(images) for name in image.names}
