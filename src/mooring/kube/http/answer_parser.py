"""Reads HTTP/1.1 answers out of the bytes of a connection, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from multidict import CIMultiDict

from mooring.errors import MooringError

MOST_HEADER_BYTES = 64 * 1024
MOST_BYTES = 256 * 1024 * 1024  # of an answer; whoever says more means no answer of an API server
MOST_DIGITS = 12  # of a length
HEAD_END, LINE_END = b"\r\n\r\n", b"\r\n"
PLAIN = (b"HTTP/1.1 200", b"HTTP/1.1 201")


class BadAnswer(MooringError):
    """These bytes are no HTTP answer."""


class Answer:
    """The status, the body, and headers that are only looked at when somebody asks."""

    def __init__(self, status: int, head: bytes, body: bytes, *, keeps_alive: bool) -> None:
        self.status = status
        self.body = body
        self.keeps_alive = keeps_alive
        self._head = head

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """By their names, in whatever case."""
        return _headers(self._head)


class AnswerReader:
    """Fed with what arrives; says when an answer is whole. What comes after it begins the next one."""

    def __init__(self) -> None:
        self.has_more = False  # bytes came after the end of the answer
        self._seen = bytearray()
        self._begin()

    def feed(self, data: bytes) -> Answer | None:
        """The answer, as soon as all of it is there."""
        if self._head is None and not (self._seen and data):
            answer = self._at_once(data or bytes(self._seen))
            if answer is not None:
                return answer
        self._seen += data
        self._taken += len(data)
        if self._taken > MOST_BYTES:
            raise BadAnswer("the answer does not end")
        if self._head is None and not self._read_head():
            return None
        if self._chunked:
            return self._read_chunks()
        if self._length is None or len(self._seen) < self._length:
            return None
        return self._whole(bytes(self._seen[: self._length]), self._length)

    def end(self) -> Answer | None:
        """The connection is over: that ends an answer of unknown length, and cuts any other."""
        if self._head is None or self._chunked or self._length is not None:
            return None
        self._keeps_alive = False
        return self._whole(bytes(self._seen), len(self._seen))

    def _begin(self) -> None:
        self._head: bytes | None = None
        self._status = 0
        self._length: int | None = None
        self._chunked = False
        self._chunks: list[bytes] = []
        self._taken = 0  # bytes of this answer
        self._keeps_alive = True

    def _at_once(self, data: bytes) -> Answer | None:
        """Nearly all answers: one that comes whole, is as long as it says, and says nothing unusual."""
        end = data.find(HEAD_END)
        if end < 0 or data[:12] not in PLAIN:
            return None
        head = data[: end + 2]
        low = head.lower()
        length = _value(low, b"\r\ncontent-length:")
        if not _is_length(length) or b"\r\ntransfer-encoding:" in low or b"\r\nconnection:" in low:
            return None
        whole = end + 4 + int(length)
        if len(data) < whole:
            return None
        self.has_more = len(data) > whole
        if self.has_more or self._seen:
            self._seen = bytearray(data[whole:])
        return Answer(int(data[9:12]), head, data[end + 4 : whole], keeps_alive=True)

    def _read_head(self) -> bool:
        """Reads the status and headers once they are whole, passing over those of interim answers."""
        while True:
            end = self._seen.find(HEAD_END)
            if end < 0:
                if len(self._seen) > MOST_HEADER_BYTES:
                    raise BadAnswer("the answer's headers do not end")
                return False
            head = bytes(self._seen[: end + 2])
            del self._seen[: end + 4]
            self._status = _status(head)
            if self._status >= 200:
                break
        self._head = head
        self._read_length(head)
        return True

    def _read_length(self, head: bytes) -> None:
        low = head.lower()
        self._keeps_alive = head.startswith(b"HTTP/1.1") and b"close" not in _value(low, b"\r\nconnection:")
        if self._status in (204, 304):
            self._length = 0
        elif _value(low, b"\r\ntransfer-encoding:").endswith(b"chunked"):
            self._chunked = True
        elif length := _value(low, b"\r\ncontent-length:"):
            if not _is_length(length):
                raise BadAnswer(f"the answer's Content-Length is {length[:20].decode('latin-1')!r}")
            self._length = int(length)

    def _read_chunks(self) -> Answer | None:
        seen = self._seen
        while (line_end := seen.find(LINE_END)) >= 0:
            size = _chunk_size(bytes(seen[:line_end]))
            if size == 0:
                return self._read_trailer(line_end)
            stop = line_end + 2 + size
            if len(seen) < stop + 2:
                return None
            if seen[stop : stop + 2] != LINE_END:
                raise BadAnswer("a chunk of the answer is longer than it says")
            self._chunks.append(bytes(seen[line_end + 2 : stop]))
            del seen[: stop + 2]
        return None

    def _read_trailer(self, line_end: int) -> Answer | None:
        """What follows the last chunk: header lines nobody needs, then an empty line."""
        if self._seen[line_end + 2 : line_end + 4] == LINE_END:
            return self._whole(b"".join(self._chunks), line_end + 4)
        end = self._seen.find(HEAD_END, line_end)
        return None if end < 0 else self._whole(b"".join(self._chunks), end + 4)

    def _whole(self, body: bytes, used: int) -> Answer:
        assert self._head is not None
        del self._seen[:used]
        self.has_more = len(self._seen) > 0
        answer = Answer(self._status, self._head, body, keeps_alive=self._keeps_alive)
        self._begin()
        return answer


def _status(head: bytes) -> int:
    if not head.startswith(b"HTTP/1.") or not head[9:12].isdigit():
        raise BadAnswer(f"not an HTTP answer: {head[:40].decode('latin-1')!r}")
    return int(head[9:12])


def _value(low: bytes, name: bytes) -> bytes:
    """The value of a header, in lower case; empty without."""
    start = low.find(name)
    if start < 0:
        return b""
    start += len(name)
    return low[start : low.index(LINE_END, start)].strip()


def _is_length(text: bytes) -> bool:
    return text.isdigit() and len(text) <= MOST_DIGITS and int(text) <= MOST_BYTES


def _chunk_size(line: bytes) -> int:
    size = line.split(b";", 1)[0].strip()
    if not size or size.strip(b"0123456789abcdefABCDEF"):
        raise BadAnswer(f"the size of a chunk is {line[:20].decode('latin-1')!r}")
    return int(size, 16)


def _headers(head: bytes) -> CIMultiDict[str]:
    found: CIMultiDict[str] = CIMultiDict()
    for line in head.split(LINE_END)[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            found.add(name.decode("latin-1"), value.strip().decode("latin-1"))
    return found
