"""What a policy needs is in `mooring`: examples and the guide import nothing else but `mooring.testing`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import mooring

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = [
    DOCS / "plugin-guide.md",
    DOCS / "testing.md",
    ROOT / "README.md",
    *sorted((DOCS / "guide").glob("*.md")),
]
EXAMPLES = sorted(each for each in (ROOT / "examples").rglob("*.py") if ".venv" not in each.parts)
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def imported(source: str) -> set[str]:
    """The modules of Mooring that a source imports, or imports names from."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {each for each in found if each.partition(".")[0] == "mooring"}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_examples_import_the_public_face(file: Path) -> None:
    assert imported(file.read_text()) <= {"mooring", "mooring.testing"}


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_guides_import_the_public_face(page: Path) -> None:
    for block in FENCE.findall(page.read_text()):
        assert imported(block) <= {"mooring", "mooring.testing"}, block


def test_all_of_it_is_there() -> None:
    assert sorted(set(mooring.__all__)) == sorted(mooring.__all__)
    assert all(hasattr(mooring, name) for name in mooring.__all__)
