"""A ledger that is told a story in a line each: for tests of what it says."""

from __future__ import annotations

from itertools import count

from chaos.changes import NODES, PODS, Change
from chaos.ledger import Ledger
from e2e.api import Object

NAMESPACE = "chaos"


class Story:
    """`now` is the time of what is told next."""

    def __init__(self, *nodes: Object) -> None:
        self.ledger = Ledger()
        self.now = 1000.0
        self._revision = count(1)
        self._pods: dict[str, Object] = {}
        for each in nodes:
            self.node(each)

    @property
    def wrong(self) -> list[str]:
        return self.ledger.wrong

    def node(self, manifest: Object) -> None:
        self._tell(NODES, manifest["metadata"]["name"], manifest)

    def node_gone(self, name: str) -> None:
        self._tell(NODES, name, None)

    def pod(self, manifest: Object, node: str = "") -> None:
        """It is made, and bound when a node is named."""
        metadata = {**manifest["metadata"], "namespace": NAMESPACE}
        metadata["uid"] = f"uid-{next(self._revision)}"
        self._change(metadata["name"], {**manifest, "metadata": metadata, "status": {"phase": "Pending"}})
        if node:
            self.bind(metadata["name"], node)

    def bind(self, name: str, node: str) -> None:
        there = self._pods[name]
        self._change(name, {**there, "spec": {**there["spec"], "nodeName": node}})

    def phase(self, name: str, phase: str) -> None:
        self._change(name, {**self._pods[name], "status": {"phase": phase}})

    def nominate(self, name: str, node: str) -> None:
        self._change(name, {**self._pods[name], "status": {"phase": "Pending", "nominatedNodeName": node}})

    def deleting(self, name: str) -> None:
        there = self._pods[name]
        self._change(name, {**there, "metadata": {**there["metadata"], "deletionTimestamp": "now"}})

    def gone(self, name: str) -> None:
        self._tell(PODS, f"{NAMESPACE}/{name}", None)

    def _change(self, name: str, manifest: Object) -> None:
        self._pods[name] = manifest
        self._tell(PODS, f"{NAMESPACE}/{name}", manifest)

    def _tell(self, kind: str, key: str, manifest: Object | None) -> None:
        self.ledger.take(Change(next(self._revision), self.now, kind, key, manifest))
