"""Names of code in the documentation are names of code: modules, classes and functions that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = Path(__file__).parents[2] / "src" / "mooring"
ROOMS = sorted(each.name for each in PACKAGE.iterdir() if each.is_dir() and each.name != "__pycache__")
DOTTED = re.compile(rf"`((?:{'|'.join(ROOMS)})\.(?!kubernetes\.io|mooring\.io)[a-z_]\w*(?:\.\w+)*)")
PAGES = sorted(DOCS.rglob("*.md"))
TABLES = {  # pages with a table of the modules of a folder
    "engine": "engine",
    "framework": "framework",
    "kube": "kube",
    "informers": "kube",
    "doing": "kube",
    "sim": "sim",
    "cluster": "cluster",
    "config": "config",
    "model": "model",
}


def resolve(name: str) -> None:
    """Imports as much of a dotted name as is a module and looks up the rest. LookupError: it is not there."""
    words = name.split(".")
    for split in range(len(words), 0, -1):
        path = PACKAGE.joinpath(*words[:split])
        if path.with_suffix(".py").exists() or (path / "__init__.py").exists():
            found: object = importlib.import_module(".".join(("mooring", *words[:split])))
            for word in words[split:]:
                slots = getattr(found, "__annotations__", {})
                if not hasattr(found, word) and word not in slots:
                    raise LookupError(f"{name}: there is no {word}")
                found = getattr(found, word, None)
            return
    raise LookupError(f"{name}: there is no such module")


def test_what_is_not_there_is_found_out() -> None:
    resolve("engine.engine.Engine.handle")
    for wrong in ("engine.nowhere", "engine.engine.Machine", "engine.engine.Engine.hundle"):
        with pytest.raises(LookupError):
            resolve(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_dotted_names_are_there(page: Path) -> None:
    for name in DOTTED.findall(page.read_text()):
        resolve(name)


def test_the_journey_names_enough_to_be_checked() -> None:
    assert len(set(DOTTED.findall((DOCS / "journey-of-a-pod.md").read_text()))) > 30


@pytest.mark.parametrize("page", TABLES)
def test_modules_of_tables_are_there(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text()
    table = text[text.index("| module |") :].partition("\n\n")[0]
    names = [name for line in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", line.split("|")[1])]
    assert names
    folder = PACKAGE / TABLES[page]
    missing = [
        name
        for name in names
        if not (folder / f"{name}.py").exists() and not (folder / name.rstrip("/")).is_dir()
    ]
    assert missing == []
