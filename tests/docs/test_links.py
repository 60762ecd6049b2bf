"""Every link of a page that stays in the repository leads somewhere, down to the heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIDDEN = (".venv", "node_modules", "out", "build", "dist")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def pages() -> list[Path]:
    found = (path for path in ROOT.rglob("*.md"))
    return sorted(
        path
        for path in found
        if not any(part.startswith(HIDDEN) or part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


def links(text: str) -> Iterator[str]:
    """Those a reader can follow: not in code."""
    yield from LINK.findall(CODE.sub("", FENCE.sub("", text)))


def anchors(text: str) -> set[str]:
    """The names of headings, as they are linked to."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        while name in found:
            name += "-1"
        found.add(name)
    return found


def broken(page: Path, root: Path = ROOT) -> Iterator[str]:
    for link in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue  # elsewhere
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"{link}: there is no {path}"
        elif not target.is_relative_to(root):
            yield f"{link}: leaves the repository"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{link}: no heading is called that"


def test_there_are_pages() -> None:
    assert len(pages()) > 50


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_what_is_broken_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `thing` (here)\n[a](#one-thing-here) [b](#no) [c](no.md) `[d](no)`\n```\n[e](no)\n```\n"
    )
    text = page.read_text()
    assert anchors(text) == {"one-thing-here"}
    assert list(links(text)) == ["#one-thing-here", "#no", "no.md"]
    assert [each.partition(":")[0] for each in broken(page, tmp_path)] == ["#no", "no.md"]
