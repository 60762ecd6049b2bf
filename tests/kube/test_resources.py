"""Where objects are kept."""

from __future__ import annotations

import pytest

from mooring.kube.resources import BY_KIND, EVENTS, LEASES, NODES, PODS, Resource


@pytest.mark.parametrize(
    ("resource", "parts", "path"),
    [
        (PODS, {}, "/api/v1/pods"),
        (PODS, {"namespace": "a"}, "/api/v1/namespaces/a/pods"),
        (PODS, {"namespace": "a", "name": "b"}, "/api/v1/namespaces/a/pods/b"),
        (PODS, {"namespace": "a", "name": "b", "sub": "binding"}, "/api/v1/namespaces/a/pods/b/binding"),
        (NODES, {"name": "n"}, "/api/v1/nodes/n"),
        (NODES, {"namespace": "ignored", "name": "n", "sub": "status"}, "/api/v1/nodes/n/status"),
        (LEASES, {"namespace": "k", "name": "l"}, "/apis/coordination.k8s.io/v1/namespaces/k/leases/l"),
        (EVENTS, {"namespace": "k"}, "/apis/events.k8s.io/v1/namespaces/k/events"),
        (NODES, {"name": "a/b c?d"}, "/api/v1/nodes/a%2Fb%20c%3Fd"),
        (NODES, {"name": "system:x"}, "/api/v1/nodes/system:x"),
    ],
)
def test_path(resource: Resource, parts: dict[str, str], path: str) -> None:
    assert resource.path(**parts) == path


@pytest.mark.parametrize(
    ("resource", "key", "path"),
    [
        (PODS, "a/b", "/api/v1/namespaces/a/pods/b/status"),
        (NODES, "n", "/api/v1/nodes/n/status"),
    ],
)
def test_path_of_a_key(resource: Resource, key: str, path: str) -> None:
    assert resource.path_of(key, "status") == path


def test_kinds_are_found_by_name() -> None:
    assert BY_KIND["Pod"] is PODS
    assert all(resource.kind == kind for kind, resource in BY_KIND.items())


def test_api_version() -> None:
    assert PODS.api_version == "v1"
    assert LEASES.api_version == "coordination.k8s.io/v1"
