"""What is found wrong, or worth a remark, while one file is checked."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.config.document import Document, Path
from mooring.errors import Mistake


class Findings:
    """Collects mistakes and remarks about a document, in any order."""

    def __init__(self, document: Document, mistakes: Sequence[Mistake] = ()) -> None:
        self.document = document
        self.mistakes = list(mistakes)
        self.remarks: list[Mistake] = []
        self._taken = {mistake.place for mistake in mistakes}

    def note(self, path: Path, what: str) -> None:
        """A mistake in meaning; silent where the text itself is already known to be wrong."""
        place = self.document.place(path)
        if place not in self._taken:
            self.mistakes.append(Mistake(place, what))

    def field(self, path: Path, what: str) -> None:
        """A mistake in a field, which the text then names."""
        name = next(step for step in reversed(path) if isinstance(step, str))
        self.note(path, f"{name}: {what}.")

    def remark(self, path: Path, what: str) -> None:
        self.remarks.append(Mistake(self.document.place(path), what))

    def in_order(self) -> list[Mistake]:
        """The mistakes in the order of the file."""
        return sorted(self.mistakes, key=_line_and_column)


def _line_and_column(mistake: Mistake) -> tuple[int, int]:
    _, line, column = mistake.place.rsplit(":", 2)
    return int(line), int(column)
