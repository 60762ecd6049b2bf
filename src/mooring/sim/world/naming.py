"""Names and uids as a cluster gives them, but the same ones in every run.

Suffixes and hashes use Kubernetes' alphabet, which has no vowels and no look-alikes, so that no
generated name spells a word.
"""

from __future__ import annotations

import random
import uuid
from typing import Any

import msgspec

SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
LONGEST_NAME = 63  # of a generated name: it becomes a host name
UID_SPACE = uuid.UUID("6d6f6f72-696e-4720-8000-000000000000")
FNV_OFFSET, FNV_PRIME = 0x811C9DC5, 0x01000193  # 32-bit FNV-1a, what Kubernetes hashes templates with


def generated_name(base: str, source: random.Random) -> str:
    """`base` and a random suffix, shortened as the API server does for generateName."""
    suffix = "".join(source.choice(SAFE_LETTERS) for _ in range(SUFFIX_LENGTH))
    return base[: LONGEST_NAME - SUFFIX_LENGTH] + suffix


def template_hash(template: Any) -> str:
    """A short hash of a pod template: equal templates, equal hashes."""
    value = FNV_OFFSET
    for byte in msgspec.json.encode(template, order="deterministic"):
        value = (value ^ byte) * FNV_PRIME & 0xFFFFFFFF
    return "".join(SAFE_LETTERS[ord(digit) % len(SAFE_LETTERS)] for digit in str(value))


def plural_of(kind: str) -> str:
    """What a kind is called in paths, unless its definition says otherwise: `podgroups`, `topologies`."""
    word = kind.lower()
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch")) else "s")


def made_up_uid(kind: str, key: str, count: int) -> str:
    """A uid for the `count`-th object created; a name used again gets another uid."""
    return str(uuid.uuid5(UID_SPACE, f"{kind}/{key}#{count}"))
