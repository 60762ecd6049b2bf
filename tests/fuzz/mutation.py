"""Makes something wrong out of something right: data as it comes out of JSON or YAML, and bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

MOST_CHANGES = 4
PUT_IN = (b"\r\n", b"\n", b"\x00", b"\xff", b"9" * 5000, b"{", b"]", b":")

STRANGE: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 1.5,
    lambda: 2**31,
    lambda: -(2**63),
    lambda: 2**63,
    lambda: 10**30,
    lambda: 1e308,
    lambda: "",
    lambda: " ",
    lambda: "\x00",
    lambda: "\ud7ff\U0001f6f3",
    lambda: "text",
    lambda: "A" * 300,
    lambda: "-1",
    lambda: "0",
    lambda: "8E",
    lambda: "1e999999999",
    lambda: "9" * 5000,
    lambda: "1n",
    lambda: "0.1m",
    lambda: "9223372036854775807",
    lambda: "*",
    lambda: "../../x",
    lambda: "1h",
    lambda: "-5s",
    lambda: "2026-02-30T25:00:00Z",
    lambda: "{",
    lambda: '{"a":[1,',
    lambda: '["a","a"]',
    lambda: "null",
    lambda: "[" * 3000,
    list,
    dict,
    lambda: [None],
    lambda: [[]],
    lambda: {"": ""},
    lambda: {"key": {}},
    lambda: [{"name": "a"}, {"name": "a"}],
)


def changed(rng: random.Random, data: Any) -> Any:
    """A copy of the data with one to a few values replaced, left out, doubled, moved or misnamed."""
    for _ in range(rng.randint(1, MOST_CHANGES)):
        paths = [path for path in _paths(data) if path]
        if not paths:
            return strange(rng)
        data = _change(rng, data, rng.choice(paths), paths)
    return data


def strange(rng: random.Random) -> Any:
    return rng.choice(STRANGE)()


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """A copy of the bytes with a few of them flipped, cut out, doubled or put in."""
    found = bytearray(data)
    for _ in range(rng.randint(1, MOST_CHANGES)):
        start = rng.randint(0, len(found))
        end = min(len(found), start + rng.choice((1, 1, 2, 8, 64, len(found))))
        match rng.randrange(6):
            case 0:
                del found[start:end]
            case 1:
                found[start:start] = found[start:end]
            case 2:
                found[start:start] = rng.choice(PUT_IN)
            case 3 if end > start:
                found[start] = rng.randrange(256)
            case 4 if end > start:
                found[start:end] = bytes(reversed(found[start:end]))
            case _:
                del found[start:]
    return bytes(found)


def pieces(rng: random.Random, data: bytes) -> list[bytes]:
    """The bytes in pieces of random length, as a network might bring them."""
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(0, 6)))
    bounds = [0, *cuts, len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if end > start]


def _paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in children:
        found += _paths(value, (*path, key))
    return found


def _change(rng: random.Random, data: Any, path: tuple[Any, ...], others: list[tuple[Any, ...]]) -> Any:
    key, *rest = path
    copy = dict(data) if isinstance(data, dict) else list(data)
    if rest:
        copy[key] = _change(rng, copy[key], tuple(rest), others)
        return copy
    match rng.randrange(8):
        case 0:
            del copy[key]
        case 1 if isinstance(copy, list):
            copy.insert(key, copy[key])
        case 1:
            copy[f"{key}x"] = copy.pop(key)
        case 2:
            copy[key] = [copy[key]]
        case 3:
            copy[key] = {"key": copy[key]}
        case 4:
            copy[key] = copy[rng.choice(list(copy) if isinstance(copy, dict) else range(len(copy)))]
        case _:
            copy[key] = strange(rng)
    return copy
