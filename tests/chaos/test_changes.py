"""What etcd says is read as changes of nodes and pods."""

from __future__ import annotations

import json

from chaos.changes import NODES, PODS, change, encoded
from e2e.api import Object


def event(key: str, revision: int, body: Object | None) -> Object:
    stored = {"key": encoded(key), "mod_revision": str(revision)}
    if body is None:
        return {"type": "DELETE", "kv": stored}
    return {"kv": stored | {"value": encoded(json.dumps(body))}}


def test_a_pod_has_its_key_and_the_revision_as_its_version() -> None:
    found = change(event("/registry/pods/chaos/a", 7, {"metadata": {"name": "a"}}), 1.5)
    assert (found.kind, found.key, found.revision, found.at) == (PODS, "chaos/a", 7, 1.5)
    assert found.object == {"metadata": {"name": "a", "resourceVersion": "7"}}


def test_a_node_that_is_gone() -> None:
    found = change(event("/registry/minions/one", 8, None), 1.5)
    assert (found.kind, found.key, found.object) == (NODES, "one", None)


def test_what_else_lies_between_is_not_read() -> None:
    found = change(event("/registry/persistentvolumes/x", 9, {"no": "metadata"}), 1.5)
    assert (found.kind, found.object) == ("persistentvolumes", None)
