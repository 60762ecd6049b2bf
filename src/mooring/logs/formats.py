"""A log record as Kubernetes components write it: a line of text with a header, or an object of JSON.

I1116 09:30:00.123456       1 decisions.py:40] "Unable to schedule pod" pod="default/web" attempts=2
{"ts":1763285400123.456,"caller":"decisions.py:40","msg":"…","v":2,"pod":{"name":"web","namespace":"default"}}
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.logs.verbosity import verbosity_of

LETTERS = {logging.CRITICAL: "F", logging.ERROR: "E", logging.WARNING: "W"}
Calendar = Callable[[float], time.struct_time]


class Format(logging.Formatter):
    """What both forms have in common."""

    def traceback(self, record: logging.LogRecord) -> str:
        found = record.exc_info
        return self.formatException(found) if found and found[2] is not None else ""


class TextFormat(Format):
    """`Lmmdd hh:mm:ss.uuuuuu pid file:line] "message" key="value"`."""

    def __init__(self, calendar: Calendar = time.localtime) -> None:
        super().__init__()
        self._calendar = calendar

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%m%d %H:%M:%S", self._calendar(record.created))
        micros = int(record.created % 1 * 1e6)
        letter = LETTERS.get(record.levelno, "I")
        head = f"{letter}{when}.{micros:06d} {record.process or 0:7d} {record.filename}:{record.lineno}]"
        pairs = "".join(f" {key}={_text(value)}" for key, value in _fields(record).items())
        line = f"{head} {quoted(record.getMessage())}{pairs}"
        trace = self.traceback(record)
        return f"{line}\n{trace}" if trace else line


class JsonFormat(Format):
    """One object a line. Errors have no `v`; a traceback is `stacktrace`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "caller": f"{record.filename}:{record.lineno}",
            "msg": record.getMessage(),
        }
        if record.levelno < logging.ERROR:
            line["v"] = verbosity_of(record.levelno)
        line |= {key: _data(value) for key, value in _fields(record).items()}
        if trace := self.traceback(record):
            line["stacktrace"] = trace
        return _json(line)


FORMATS: dict[str, Callable[[], logging.Formatter]] = {"text": TextFormat, "json": JsonFormat}


def quoted(text: str) -> str:
    """A text as Go quotes it."""
    return _json(text)


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except UnicodeEncodeError:  # what is no character is written as its number
        return json.dumps(value, default=str)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found = dict(getattr(record, "fields", {}))
    if record.exc_info and record.exc_info[1] is not None and "err" not in found:
        found["err"] = record.exc_info[1]
    return found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    text = reference(value) or (str(value) if isinstance(value, (str, BaseException)) else "")
    if not text and not isinstance(value, (str, BaseException)):
        return _json(value)
    if "\n" in text:  # lines stay readable
        return "<\n" + "".join(f"\t{line}\n" for line in text.splitlines()) + " >"
    return quoted(text)


def _data(value: Any) -> Any:
    if reference(value):
        namespace, slash, name = reference(value).rpartition("/")
        return {"name": name, "namespace": namespace} if slash else {"name": name}
    return str(value) if isinstance(value, BaseException) else value


def reference(value: Any) -> str:
    """`namespace/name` of a Kubernetes object; "" for anything else."""
    metadata = getattr(value, "metadata", None)
    if metadata is None:
        return ""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else str(metadata.name)
