"""The code blocks of a page, and what stands above them.

Every block has a language: `text` is shown, all others are tried. A comment above a block may say why it is
not (`<!-- not run: needs a cluster; tests/e2e/test_deploy.py does -->`), or what goes before (`<!-- setup`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
HIDDEN = (".venv", "node_modules", "out", "build", "dist")
FENCE = re.compile(r"(<!--((?:(?!-->).)*)-->\n+)?^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    code: str
    comment: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def excuse(self) -> str:
        """Why it is not run; "" for one that is."""
        return self.comment.removeprefix("not run:").strip() if self.comment.startswith("not run:") else ""

    @property
    def setup(self) -> str:
        return self.comment.removeprefix("setup") if self.comment.startswith("setup") else ""


def pages() -> list[Path]:
    """Every page for readers: of the project, not of its tests."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return sorted(page for page in found if not any(part in HIDDEN for part in page.relative_to(ROOT).parts))


def blocks(*languages: str) -> list[Block]:
    found = [block for page in pages() for block in blocks_of(page)]
    return [block for block in found if block.language in languages] if languages else found


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        _, comment, indent, language, code = match.groups()
        line = text.count("\n", 0, match.start(3)) + 1
        plain = "".join(each.removeprefix(indent) for each in code.splitlines(keepends=True))
        yield Block(page, line, language, plain, (comment or "").strip())


def commands(block: Block) -> Iterator[list[str]]:
    """The commands of a block, each as its words."""
    for line in block.code.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words[1:] if words[0] == "$" else words
