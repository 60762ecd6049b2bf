"""The chart without helm: values, their schema and the templates know the same names."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from deploy.objects import CHART, ROOT

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
TEMPLATES = "\n".join(
    file.read_text(encoding="utf-8") for file in sorted((CHART / "templates").rglob("*")) if file.is_file()
)
TYPES = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "object": dict,
    "array": list,
    "null": type(None),
}
BY_HELM = {"global"}  # a value every chart has


def paths(values: dict[str, Any], schema: dict[str, Any], above: str = "") -> Iterator[str]:
    """The values there are, down to where the schema says no more."""
    for name, value in values.items():
        inner = schema["properties"].get(name, {})
        if isinstance(value, dict) and "properties" in inner:
            yield from paths(value, inner, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def schema_paths(schema: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, inner in schema["properties"].items():
        if "properties" in inner:
            yield from schema_paths(inner, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def closed(schema: dict[str, Any]) -> Iterator[bool]:
    yield schema["additionalProperties"] is False
    for inner in schema["properties"].values():
        if "properties" in inner:
            yield from closed(inner)


def at(path: str, value: Any) -> Any:
    for part in path.split("."):
        value = value[part]
    return value


def schema_at(path: str) -> dict[str, Any]:
    found: dict[str, Any] = at(path.replace(".", ".properties."), SCHEMA["properties"])
    return found


def test_schema_and_values_name_the_same() -> None:
    assert sorted(paths(VALUES, SCHEMA)) == sorted(set(schema_paths(SCHEMA)) - BY_HELM)


def test_a_misspelt_value_is_refused() -> None:
    assert all(closed(SCHEMA))


@pytest.mark.parametrize("path", sorted(paths(VALUES, SCHEMA)))
def test_defaults_are_of_their_type(path: str) -> None:
    value, schema = at(path, VALUES), schema_at(path)
    if "enum" in schema:
        assert value in schema["enum"]
    elif "anyOf" in schema:
        assert any(isinstance(value, TYPES[one["type"]]) for one in schema["anyOf"])
    else:
        allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert isinstance(value, tuple(TYPES[name] for name in allowed))
        assert isinstance(value, bool) == (allowed == ["boolean"])
    if "pattern" in schema:
        assert re.search(schema["pattern"], value)


def test_templates_use_every_value_and_no_other() -> None:
    used = set(re.findall(r"\.Values\.([A-Za-z][\w.]*\w)", TEMPLATES))
    used |= {f"leaderElection.{name}" for name in re.findall(r"\$election\.(\w+)", TEMPLATES)}
    known = set(paths(VALUES, SCHEMA))
    assert known <= used
    assert used - known == {"leaderElection"}  # looked into under another name


def test_every_value_is_explained() -> None:
    """A comment above each, or above the group it is in."""
    lines = (CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    top = [index for index, line in enumerate(lines) if re.match(r"\w+:", line)]
    silent = [
        lines[index]
        for index in top
        if not lines[index - 1].startswith("#")
        and not any(line.lstrip().startswith("#") for line in _block(lines, index))
    ]
    plain = {"extraVolumeMounts", "nodeSelector", "tolerations", "affinity", "podAnnotations", "podLabels"}
    plain |= {"securityContext", "terminationGracePeriodSeconds"}
    assert {line.split(":")[0] for line in silent} <= plain


def _block(lines: list[str], start: int) -> Iterator[str]:
    for line in lines[start + 1 :]:
        if not line.startswith((" ", "#")):
            return
        yield line


def test_versions_are_the_project_s() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert chart["version"] == version
    assert chart["appVersion"] == version
