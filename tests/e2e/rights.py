"""Accounts that may do what `deploy/manifests` allows, but for one thing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from e2e.api import Object
from e2e.authorized import wait_until_allowed, wait_until_reader
from e2e.control_plane import ControlPlane
from e2e.mooring_process import MANIFESTS, NAME

CORE = ""
RBAC = "/apis/rbac.authorization.k8s.io/v1"
BESIDE = f"{RBAC}/namespaces/kube-system/rolebindings"  # of 15-authentication-reader.yaml
READER = "extension-apiserver-authentication-reader"
ACCOUNT_ROLE = "mooring-of-{}"


class Right(NamedTuple):
    """One verb of one rule."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"

    @property
    def refusal(self) -> str:
        """In the API server's words."""
        return f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}"'


def rules(kind: str) -> list[Object]:
    """Those of the Role or of the ClusterRole, as they are shipped."""
    for path in sorted(MANIFESTS.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if document and document["kind"] == kind:
                found: list[Object] = document["rules"]
                return found
    raise AssertionError(f"there is no {kind} in {MANIFESTS}")


def granted() -> list[Right]:
    """Every right there is, in the order of the files."""
    return [right for kind in ("ClusterRole", "Role") for rule in rules(kind) for right in rights_of(rule)]


def rights_of(rule: Object) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                yield Right(group, resource, verb)


def without(shipped: list[Object], missing: Right | None) -> list[Object]:
    """The rules but for one verb; a rule that is left with none goes."""
    kept = copy.deepcopy(shipped)
    for rule in kept:
        rule["verbs"] = [
            verb for verb in rule["verbs"] if missing not in rights_of({**rule, "verbs": [verb]})
        ]
    return [rule for rule in kept if rule["verbs"]]


class Account:
    """A service account in a namespace of its own, with the roles of `deploy/` but for what is missing."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.namespace = namespace
        self._plane = plane
        self._api = plane.api
        self._role = ACCOUNT_ROLE.format(namespace)

    def make(self, missing: Right | None) -> Path:
        """All of it; a kubeconfig for it."""
        create, inside = self._api.create, f"/namespaces/{self.namespace}"
        create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        create(f"/api/v1{inside}/serviceaccounts", {"metadata": {"name": NAME}})
        create(f"{RBAC}/clusterroles", self._cluster_role(missing))
        create(f"{RBAC}/clusterrolebindings", self._binding("ClusterRole", self._role))
        own = {"metadata": {"name": NAME}, "rules": without(rules("Role"), missing)}
        create(f"{RBAC}{inside}/roles", own)
        create(f"{RBAC}{inside}/rolebindings", self._binding("Role", NAME))
        create(BESIDE, {**self._binding("Role", READER), "metadata": {"name": self._role}})
        for kind in ("ClusterRole", "Role"):
            wait_until_allowed(self._api, self.namespace, NAME, without(rules(kind), missing)[0])
        wait_until_reader(self._api, self.namespace, NAME)
        return self._plane.service_account(self.namespace, NAME)

    def may_all_but(self, missing: Right | None) -> None:
        """From now on, of what the ClusterRole allows."""
        self._api.replace(f"{RBAC}/clusterroles/{self._role}", self._cluster_role(missing))

    def remove(self) -> None:
        self._api.delete(f"{RBAC}/clusterrolebindings/{self._role}")
        self._api.delete(f"{RBAC}/clusterroles/{self._role}")
        self._api.delete(f"{BESIDE}/{self._role}")
        self._api.delete(f"/api/v1/namespaces/{self.namespace}")

    def _cluster_role(self, missing: Right | None) -> Object:
        return {"metadata": {"name": self._role}, "rules": without(rules("ClusterRole"), missing)}

    def _binding(self, kind: str, name: str) -> Object:
        return {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": self.namespace}],
        }
