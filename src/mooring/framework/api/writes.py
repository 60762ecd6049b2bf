"""A write of an object, as a plugin asks for one."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mooring.framework.api.answers import shown


class Write(msgspec.Struct, frozen=True, tag=True):
    """One write. `kind` is the name of a kind of Kubernetes, or `group/version/plural` of any other.

    `body` is the object that is created, or what is merged into it. With a uid in its metadata a patch or a
    deletion is for that very object, and not for another one that has its name by now. `sub` is a
    subresource: `status`. Nobody waits for what comes of it: the object itself tells, when it changes.
    """

    verb: Literal["create", "patch", "delete"]
    kind: str
    key: str
    body: dict[str, Any] = {}
    sub: str = ""

    @property
    def uid(self) -> str:
        """The very object that is meant; "" when any of the name is."""
        uid = (self.body.get("metadata") or {}).get("uid")
        return uid if isinstance(uid, str) else ""


def check_write(write: Write) -> None:
    """Raises for a write that could not be sent: while it is known who wants it."""
    if type(write) is not Write or write.verb not in ("create", "patch", "delete"):
        raise TypeError(f"{shown(write)} is no write")
    if (
        not all(type(word) is str for word in (write.kind, write.key, write.sub))
        or type(write.body) is not dict
    ):
        raise TypeError(f"{shown(write)} is no write")
    msgspec.json.encode(write)
