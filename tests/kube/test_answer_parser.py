"""Answers are read the same however their bytes arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.http.answer_parser import Answer, AnswerReader

BODIES = st.binary(max_size=60)


def sized(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d Fine\r\nContent-Length: %d\r\nX-One: 1\r\n\r\n%s" % (status, len(body), body)


def chunked(body: bytes, size: int, trailer: bytes = b"") -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts)
    return (
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n" + trailer + b"\r\n"
    )


def read(reader: AnswerReader, data: bytes, cuts: list[int]) -> Answer:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    answers = [reader.feed(data[start:stop]) for start, stop in pairwise(places)]
    assert not any(answers[:-1])
    assert not reader.mistake
    (answer,) = answers[-1]
    return answer


@given(BODIES, st.lists(st.integers(0, 300), max_size=8))
def test_a_sized_answer_is_read_in_any_pieces(body: bytes, cuts: list[int]) -> None:
    answer = read(AnswerReader(), sized(body), cuts)
    assert (answer.status, answer.body, answer.keeps_alive) == (200, body, True)
    assert answer.headers["x-one"] == "1"


@given(
    BODIES, st.integers(1, 20), st.lists(st.integers(0, 300), max_size=8), st.sampled_from([b"", b"A: b\r\n"])
)
def test_a_chunked_answer_is_read_in_any_pieces(
    body: bytes, size: int, cuts: list[int], trailer: bytes
) -> None:
    answer = read(AnswerReader(), chunked(body, size, trailer), cuts)
    assert (answer.status, answer.body) == (201, body)


@given(st.lists(BODIES, min_size=2, max_size=4))
def test_one_reader_reads_answer_after_answer(bodies: list[bytes]) -> None:
    reader = AnswerReader()
    for body in bodies:
        assert read(reader, sized(body), []).body == body
        assert not reader.has_begun


@given(st.lists(BODIES, min_size=1, max_size=4), st.lists(st.integers(0, 300), max_size=8))
def test_answers_that_come_together_are_read_in_their_order(bodies: list[bytes], cuts: list[int]) -> None:
    reader, data = AnswerReader(), b"".join(map(sized, bodies))
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    answers = [answer for start, stop in pairwise(places) for answer in reader.feed(data[start:stop])]
    assert [answer.body for answer in answers] == bodies
    assert not reader.has_begun


def test_interim_answers_are_passed_over() -> None:
    reader = AnswerReader()
    (answer,) = reader.feed(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + sized(b"ok"))
    assert (answer.status, answer.body) == (200, b"ok")


def test_an_answer_without_a_length_lasts_until_the_end() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nall of") == []
    assert reader.feed(b" it") == []
    answer = reader.end()
    assert answer is not None
    assert (answer.body, answer.keeps_alive) == (b"all of it", False)


def test_an_answer_cut_before_its_length_is_none() -> None:
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")
    assert reader.end() is None


def test_nothing_follows_a_204() -> None:
    (answer,) = AnswerReader().feed(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert answer.body == b""


def test_bytes_after_the_answer_are_noticed() -> None:
    reader = AnswerReader()
    reader.feed(sized(b"ok") + b"HTTP/1.1 200")
    assert reader.has_begun


@pytest.mark.parametrize("closing", ["Connection: close", "connection:Close"])
def test_a_server_may_close_the_connection(closing: str) -> None:
    (answer,) = AnswerReader().feed(f"HTTP/1.1 200 OK\r\n{closing}\r\nContent-Length: 0\r\n\r\n".encode())
    assert not answer.keeps_alive


def test_much_before_a_head_that_is_cut_is_no_long_head() -> None:
    reader = AnswerReader()
    (answer,) = reader.feed(sized(b"x" * 200_000) + b"HTTP/1.1 200 OK\r\nContent-Le")
    assert len(answer.body) == 200_000
    assert not reader.mistake
    (answer,) = reader.feed(b"ngth: 2\r\n\r\nok")
    assert answer.body == b"ok"


@pytest.mark.parametrize("line", [b"A: b\r\n", b"A: " + b"x" * 1000])
def test_trailers_that_do_not_end(line: bytes) -> None:
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
    for _ in range(70_000 // len(line)):
        reader.feed(line)
    assert "do not end" in reader.mistake


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        b"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n",
        b"X" * 70_000,
    ],
    ids=[
        "upgrade",
        "odd status",
        "other protocol",
        "no status",
        "bad length",
        "negative chunk",
        "bad chunk",
        "long chunk",
        "endless",
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(data) == []
    assert reader.mistake
