"""Every plugin of the default profile has a page that is true: its arguments, and examples that run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from mooring.config.load import load_config
from mooring.plugins.catalogue import make_registry
from mooring.plugins.defaults import DEFAULT_MULTI_POINT
from mooring.testing import cluster, node, pod

PAGES = Path(__file__).parents[2] / "docs" / "plugins"
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
REGISTRY = make_registry()
NAMES = [use.name for use in DEFAULT_MULTI_POINT if use.name in REGISTRY.names()]


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", page(name), re.DOTALL)
    return found


def test_pages_are_those_of_the_plugins() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} >= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example(name: str) -> None:
    assert page(name).startswith(f"# {name}\n")
    assert "```" in page(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_is_told(name: str) -> None:
    for field in msgspec.structs.fields(REGISTRY.get(name).Args):
        assert f"`{field.encode_name}" in page(name), field.encode_name


@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name, "python")])
def test_python_examples_hold(name: str) -> None:
    for block in blocks(name, "python"):
        found: dict[str, Any] = {"cluster": cluster, "node": node, "pod": pod}
        exec(block, found)
        tests = [value for key, value in found.items() if key.startswith("test_")]
        assert tests
        for test in tests:
            test()


@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name, "yaml")])
def test_yaml_examples_are_read(name: str) -> None:
    for block in blocks(name, "yaml"):
        for document in yaml.safe_load_all(block):
            if "pluginConfig" in document:
                document = {"profiles": [document]}
            if "profiles" in document and "my_policies" not in block:
                load_config(yaml.safe_dump(HEADER | document), "example.yaml", REGISTRY)
