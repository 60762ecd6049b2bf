"""A Lease as it is read and written. What is not ours in it stays as it is."""

from __future__ import annotations

from math import ceil
from typing import Any

import msgspec

from mooring.errors import Unreachable

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class Lease(msgspec.Struct, frozen=True):
    """Metadata and spec as plain data; the resource version in it guards every write."""

    metadata: dict[str, Any]
    spec: dict[str, Any]

    @classmethod
    def new(cls, namespace: str, name: str) -> Lease:
        return cls({"namespace": namespace, "name": name}, {})

    @classmethod
    def read(cls, body: bytes) -> Lease:
        try:
            return msgspec.convert(_decode(body), cls)
        except msgspec.MsgspecError as error:
            raise Unreachable(0, f"the lease cannot be read: {error}") from None

    @property
    def holder(self) -> str:
        return str(self.spec.get("holderIdentity") or "")

    @property
    def version(self) -> str:
        """Moves with every write, also by somebody whose clock stands still."""
        return str(self.metadata.get("resourceVersion", ""))

    @property
    def duration_s(self) -> float:
        """How long it is good for after it was seen to change; 0 when it does not say."""
        seconds = self.spec.get("leaseDurationSeconds")
        return float(seconds) if isinstance(seconds, int) else 0.0

    def taken(self, identity: str, duration_s: float, now: str) -> Lease:
        """The lease in the hands of `identity`: renewed when it is there already, else changed over."""
        mine = self.holder == identity
        transitions = self.spec.get("leaseTransitions") or 0
        changes = {
            "holderIdentity": identity,
            "leaseDurationSeconds": ceil(duration_s),  # in whole seconds, and rather too long than too short
            "acquireTime": (self.spec.get("acquireTime") if mine else None) or now,
            "renewTime": now,
            "leaseTransitions": transitions if mine or not self.spec else transitions + 1,
        }
        return Lease(self.metadata, {**self.spec, **changes})

    def released(self, now: str) -> Lease:
        """The lease in nobody's hands."""
        changes = {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}
        return Lease(self.metadata, {**self.spec, **changes})

    def body(self) -> bytes:
        return _encode(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": self.metadata,
                "spec": self.spec,
            }
        )
