"""Texts from elsewhere, of any length and content, as they can be shown and sent: UTF-8, and not too long."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_SAID = 8192  # characters of one thing said; the API server takes no Event of more than 1024
# Of the message of a condition. The API server takes no more in those of most kinds (metav1.Condition); to a
# pod's it sets no limit of its own, but it refuses a request of some megabytes.
LONGEST_MESSAGE = 32_768
MORE_REASONS = "... and {} more reasons"

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with a mark in place of what is no character: JSON and UTF-8 have no way to write it."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def clipped(text: str, most: int = LONGEST_SAID) -> str:
    """The text, clean, with its end left out when it is too long."""
    return clean(text if len(text) <= most else f"{text[: most - 3]}...")


def fitting(texts: Iterable[str], most: int) -> list[str]:
    """The first of them that have room in so many characters; one at least."""
    kept: list[str] = []
    for text in texts:
        most -= len(text)
        if most < 0 and kept:
            break
        kept.append(text)
    return kept


def with_more(reasons: list[str], count: int) -> list[str]:
    """Reasons, and how many more there are of so many in all."""
    more = count - len(reasons)
    return [*reasons, MORE_REASONS.format(more)] if more else reasons
