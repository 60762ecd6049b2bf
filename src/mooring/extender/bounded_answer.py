"""Reads an answer up to a number of bytes, as they are once they are inflated: a few may stand for many."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import aiohttp

READ_AT_ONCE = 64 * 1024
GZIP = zlib.MAX_WBITS | 16


class TooLong(Exception):
    """There is more than was allowed for."""


async def read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The whole answer. Raises TooLong as soon as there is more of it than that, ValueError when it is
    encoded in another way than was asked for."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("gzip", "x-gzip", "identity", ""):
        raise ValueError(f"the answer is encoded as {encoding[:40]!a}, which was not asked for")
    inflating = Inflating() if encoding.endswith("gzip") else None
    found = bytearray()
    async for chunk in response.content.iter_chunked(READ_AT_ONCE):
        for part in (chunk,) if inflating is None else inflating.parts(chunk):
            found += part
            if len(found) > most:
                raise TooLong
    if inflating is not None and not inflating.is_whole:
        raise ValueError("the answer ends in the middle")
    return bytes(found)


class Inflating:
    """Inflates what was compressed with gzip, a little at a time."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(GZIP)
        self._begun = False

    @property
    def is_whole(self) -> bool:
        return self._stream.eof or not self._begun

    def parts(self, data: bytes) -> Iterator[bytes]:
        """What some more bytes come to, in parts. Several streams may follow each other."""
        while data:
            if self._stream.eof:
                self._stream = zlib.decompressobj(GZIP)
            self._begun = True
            yield self._stream.decompress(data, READ_AT_ONCE)
            data = self._stream.unconsumed_tail or self._stream.unused_data
