"""What a plugin's answer about a node depends on, said once per plugin.

The engine keeps answers as far as the scope allows. It is a promise, and enforced: the node handed
to a plugin shows only what was declared.
"""

from __future__ import annotations

from enum import Enum


class Scope(Enum):
    STATIC = "static"  # the node object: kept until the object changes
    ROW = "row"  # the node and the pods on it: kept until either changes
    DOMAIN = "domain"  # counts over a topology domain
    CLUSTER = "cluster"  # anything at all: never kept, never wrong; the default

    @property
    def kept(self) -> bool:
        return self in (Scope.STATIC, Scope.ROW)


class _Unsignable:
    """The answer of `sign` for a pod unlike any other: its evaluation is shared with nobody."""

    def __repr__(self) -> str:
        return "UNSIGNABLE"


UNSIGNABLE = _Unsignable()
