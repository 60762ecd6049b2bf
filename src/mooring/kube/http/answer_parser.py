"""Reads HTTP/1.1 answers out of the bytes of a connection, by llhttp's parser (`httptools`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import httptools
from multidict import CIMultiDict

from mooring.errors import MooringError

MOST_HEADER_BYTES = 64 * 1024
MOST_BYTES = 256 * 1024 * 1024  # of an answer; whoever says more means no answer of an API server
INTERIM = range(100, 200)  # statuses that announce an answer, and are none
WITHOUT_BODY = (204, 304)
MANY_DIGITS = 9  # of a length: as many as MOST_BYTES has
CONTENT_LENGTH = b"Content-Length"  # as servers spell it; who spells it otherwise meets MOST_BYTES later
LENGTHS = (b"content-length", b"transfer-encoding")
HEADERS_DO_NOT_END = "the answer's headers do not end"
DOES_NOT_END = "the answer does not end"
MOST_FRAMING = 16  # bytes around a byte of the body: chunks of one byte, with an extension each
UPGRADES = "the server wants to speak another protocol"

Fields = Iterable[tuple[bytes, bytes]]  # headers, as they come


class BadAnswer(MooringError):
    """These bytes are no HTTP answer."""


class Answer:
    """An answer that is all there. Its headers are only looked at when somebody asks."""

    def __init__(self, status: int, fields: Fields, body: bytes, *, keeps_alive: bool = True) -> None:
        self.status = status
        self.body = body
        self.keeps_alive = keeps_alive
        self._fields = fields

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """By their names, in whatever case."""
        return CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in self._fields)


class AnswerReader:
    """Fed with what arrives; returns the answers that are whole by then. What the parser calls has no other
    use: it begins with `on_`. Headers, seven in an answer, go into a dict without a step of Python."""

    def __init__(self) -> None:
        self.has_begun = False  # bytes of the next answer are here
        self.mistake = ""  # what is wrong with the bytes after the last answer; no more can be read then
        self._fields: dict[bytes, bytes] = {}  # of this answer; the first of a name counts
        self.on_header = self._fields.setdefault
        self._parser = httptools.HttpResponseParser(self)
        self._answers: list[Answer] = []
        self._parts: list[bytes] = []
        self._size = self._taken = 0  # bytes of the body, and in all
        self._begun = 0  # answers so far
        self._in_head = False

    def feed(self, data: bytes) -> list[Answer]:
        """The answers that end in these bytes, in their order."""
        begun, had_begun = self._begun, self.has_begun
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.mistake = UPGRADES
        except httptools.HttpParserError as error:
            self.mistake = _words(error)
        if had_begun and self.has_begun and begun == self._begun:  # all of it is of one answer
            self._taken += len(data)
            if self._taken - self._size > MOST_HEADER_BYTES + MOST_FRAMING * self._size:
                self.mistake = HEADERS_DO_NOT_END
        answers, self._answers = self._answers, []
        return answers

    def end(self) -> Answer | None:
        """The connection is over: that ends an answer of unknown length, and cuts any other."""
        if not self.has_begun or self._in_head or self.mistake or self._has_length():
            return None
        self.on_message_complete()
        for answer in self._answers:
            answer.keeps_alive = False
        return self._answers.pop() if self._answers else None

    # what the parser calls

    def on_message_begin(self) -> None:
        self.has_begun = self._in_head = True
        self._begun += 1
        self._fields.clear()
        self._parts = []
        self._size = self._taken = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        length = self._fields.get(CONTENT_LENGTH, b"")
        if len(length) >= MANY_DIGITS:
            _check_length(length)
        status = self._parser.get_status_code()
        if status < INTERIM.start:
            raise BadAnswer(f"the answer's status is {status}")

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > MOST_BYTES:
            raise BadAnswer(DOES_NOT_END)

    def on_message_complete(self) -> None:
        self.has_begun = False
        parser, parts = self._parser, self._parts
        status: int = parser.get_status_code()
        if status not in INTERIM:
            body = parts[0] if len(parts) == 1 else b"".join(parts)
            fields = tuple(self._fields.items())
            self._answers.append(Answer(status, fields, body, keeps_alive=parser.should_keep_alive()))

    def _has_length(self) -> bool:
        return any(name.lower() in LENGTHS for name in self._fields)


def _check_length(value: bytes) -> None:
    if len(value) > MANY_DIGITS or int(value) > MOST_BYTES:
        raise BadAnswer(f"the answer's Content-Length is {value[:20].decode()}")


def _words(error: Exception) -> str:
    """What was raised within a callback says more than that something was."""
    cause = error.__context__
    return str(cause) if isinstance(cause, BadAnswer) else f"not an HTTP answer: {error}"
