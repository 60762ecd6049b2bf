"""The worked pages of the plugin guide are run: their policies load, and their tests pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
PAGES = sorted(page.stem for page in GUIDE.glob("*.md"))
KINDS = ["domain", "filter", "group", "score", "session", "stateful"]


def code_of(page: str) -> dict[str, Any]:
    """What the blocks of a page define, one after the other."""
    text = (GUIDE / f"{page}.md").read_text()
    names: dict[str, Any] = {"__name__": f"guide_{page}"}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M):
        exec(compile(block, f"docs/guide/{page}.md", "exec"), names)
    return names


def test_every_kind_of_plugin_has_a_page() -> None:
    assert PAGES == KINDS


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_works(page: str) -> None:
    names = code_of(page)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test()
