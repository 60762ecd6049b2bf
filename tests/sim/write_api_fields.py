"""Writes which fields the objects have that the simulator acts on, from a version's OpenAPI.

    python tests/sim/write_api_fields.py swagger.json > src/mooring/sim/manifests/checks/api_fields.txt

A line is a type, with its apiVersion if it is a kind, and its fields: `field` alone is not looked into,
`field=Type` is a mapping of that type, `field=[Type]` a list of them and `field={Type}` a mapping to them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

KINDS = {
    "": (
        "LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate "
        "ReplicationController ResourceQuota"
    ),
    "apps/": "DaemonSet Deployment ReplicaSet StatefulSet",
    "batch/": "CronJob Job",
    "node.k8s.io/": "RuntimeClass",
    "policy/": "PodDisruptionBudget",
    "scheduling.k8s.io/": "PriorityClass PodGroup Workload",
    "storage.k8s.io/": "CSIDriver CSINode CSIStorageCapacity StorageClass",
}
VERSIONS = ("v1", "v1alpha2")
NOT_LOOKED_INTO = ("status", "managedFields", "ownerReferences")

Definition = dict[str, Any]


def main(swagger: Path) -> None:
    definitions: dict[str, Definition] = json.loads(swagger.read_text())["definitions"]
    waiting = [name for name, definition in sorted(definitions.items()) if _is_wanted(definition)]
    lines: dict[str, str] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        fields, inner = _fields(name, definitions)
        line = f"{_head(name, definitions[name])}: {' '.join(fields)}"
        if lines.setdefault(_short(name), line) != line:
            raise SystemExit(f"two types are called {_short(name)}")
        waiting += inner
    sys.stdout.write("\n".join(line for _, line in sorted(lines.items())) + "\n")


def _is_wanted(definition: Definition) -> bool:
    return any(
        of["kind"] in KINDS.get(f"{of['group']}/" if of["group"] else "", "").split()
        and of["version"] in VERSIONS
        for of in definition.get("x-kubernetes-group-version-kind", ())
    )


def _head(name: str, definition: Definition) -> str:
    for of in definition.get("x-kubernetes-group-version-kind", ()):
        version = "/".join(filter(None, (of["group"], of["version"])))
        return f"{version} {of['kind']}"
    return _short(name)


def _fields(name: str, definitions: dict[str, Definition]) -> tuple[list[str], list[str]]:
    fields, inner = [], []
    for field, schema in sorted(definitions[name]["properties"].items()):
        shown, below = _shown(schema)
        looked_into = field not in NOT_LOOKED_INTO or name.endswith(".Node")
        if below and looked_into and "properties" in definitions[below]:
            inner.append(below)
            fields.append(f"{field}={shown}")
        else:
            fields.append(field)
    return fields, inner


def _shown(schema: Definition) -> tuple[str, str]:
    for key, form in (("items", "[{}]"), ("additionalProperties", "{{{}}}")):
        if key in schema:
            below = _reference(schema[key])
            return form.format(_short(below)), below
    below = _reference(schema)
    return _short(below), below


def _reference(schema: Definition) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _short(name: str) -> str:
    return name.rpartition(".")[2]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
