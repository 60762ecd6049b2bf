"""Every plugin of the default profile has a page that tells its arguments, with an example."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mooring.plugins.catalogue import make_registry
from mooring.plugins.defaults import DEFAULT_MULTI_POINT

PAGES = Path(__file__).parents[2] / "docs" / "plugins"
REGISTRY = make_registry()
NAMES = [use.name for use in DEFAULT_MULTI_POINT if use.name in REGISTRY.names()]


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


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
