"""A page of a list as the API server sends it. What its items are is up to who reads them.

A long page is read in pieces, small enough that the processor has an object still at hand when it is made
use of: of a page that is read in one go, it would have to fetch every object from memory again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from mooring.kube.decode.deep_json import UNREADABLE, read_deeply

PIECE = 1 << 16  # bytes, and the rest of an object
BETWEEN = b'},{"metadata":{'  # where an object ends and the next begins, as Kubernetes writes them
OPENING, CLOSING = b'{"items":[', b"]}"

T = TypeVar("T")


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Listed(msgspec.Struct, Generic[T], frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[T] | None = None


ReadList = Callable[[bytes], Listed[Any]]
read_raw: ReadList = msgspec.json.Decoder(Listed[msgspec.Raw]).decode


def read_pieces(page: bytes, read: ReadList) -> Iterator[Listed[Any]]:
    """The pieces of a page in their order, each as a list of its own; only one of them has the metadata.

    In a piece that `read` cannot read, objects are left as they are. DecodeError: this is no list.
    """
    start, opening = 0, b""
    while end := 1 + page.find(BETWEEN, start + PIECE):
        piece = b"".join((opening, memoryview(page)[start:end], CLOSING))
        try:
            found = _read(piece, read)
        except msgspec.DecodeError:
            break  # cut within an object: one like it is a part of it
        yield found
        start, opening = end + 1, OPENING
    yield _read(opening + page[start:] if start else page, read)


def _read(piece: bytes, read: ReadList) -> Listed[Any]:
    try:
        return read(piece)
    except UNREADABLE:
        return read_deeply(read_raw, piece)
