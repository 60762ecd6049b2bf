"""Lines as Kubernetes components write them."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

import pytest

from mooring.logs import V2, fields
from mooring.logs.formats import JsonFormat, TextFormat
from mooring.model.objects import Node, ObjectMeta, Pod

WEB = Pod(metadata=ObjectMeta(name="web", namespace="default"))
NODE = Node(metadata=ObjectMeta(name="n1"))


def record(
    level: int = logging.INFO, message: str = "Pod moved", *args: object, **about: Any
) -> logging.LogRecord:
    made = logging.LogRecord("mooring.x", level, "/somewhere/queue.py", 12, message, args, None)
    made.created, made.process = 1.25 + 3600 * 24, 7
    made.__dict__.update(fields(**about))
    return made


def text(*args: Any, **about: Any) -> str:
    return TextFormat(time.gmtime).format(record(*args, **about))


def data(*args: Any, **about: Any) -> dict[str, Any]:
    found = json.loads(JsonFormat().format(record(*args, **about)))
    assert isinstance(found, dict)
    return found


def test_header() -> None:
    assert text() == 'I0102 00:00:01.250000       7 queue.py:12] "Pod moved"'


@pytest.mark.parametrize(
    ("level", "letter"), [(logging.ERROR, "E"), (logging.WARNING, "W"), (V2, "I"), (logging.CRITICAL, "F")]
)
def test_severity(level: int, letter: str) -> None:
    assert text(level)[0] == letter


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (WEB, '"default/web"'),
        (NODE, '"n1"'),
        ("it's", '"it\'s"'),
        ('a "b"', '"a \\"b\\""'),
        ("", '""'),
        (3, "3"),
        (1.5, "1.5"),
        (True, "true"),
        (["a", "b"], '["a","b"]'),
        (ValueError("no"), '"no"'),
        ("one\ntwo", "<\n\tone\n\ttwo\n >"),
    ],
)
def test_values(value: object, shown: str) -> None:
    assert text(key=value).endswith(f'] "Pod moved" key={shown}')


def test_arguments_of_the_message() -> None:
    assert text(logging.INFO, "lost %s", "x").endswith('] "lost x"')


def test_json() -> None:
    assert data(V2, pod=WEB, node=NODE, count=3, err=ValueError("no")) == {
        "ts": 86401250.0,
        "caller": "queue.py:12",
        "msg": "Pod moved",
        "v": 2,
        "pod": {"name": "web", "namespace": "default"},
        "node": {"name": "n1"},
        "count": 3,
        "err": "no",
    }
    assert "v" not in data(logging.ERROR)
    assert data(logging.INFO)["v"] == 0


def test_what_is_no_json_is_shown_all_the_same() -> None:
    assert data(key=object)["key"] == "<class 'object'>"


def test_tracebacks() -> None:
    made = record(logging.ERROR)
    try:
        raise ValueError("broken")
    except ValueError:
        made.exc_info = sys.exc_info()
    lines = TextFormat(time.gmtime).format(made).splitlines()
    assert lines[0].endswith('"Pod moved" err="broken"')
    assert lines[1].startswith("Traceback")
    found = json.loads(JsonFormat().format(made))
    assert found["err"] == "broken"
    assert "ValueError: broken" in found["stacktrace"]
