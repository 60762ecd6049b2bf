"""What is passed over in files, told in a line for each reason with a few of the places."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mooring.errors import Mistake

SHOWN = 3
MOST_MISTAKES = 20
LEFT_OUT = "{} It is left out"
MORE_LEFT_OUT = (
    "and {} more mistakes in files of folders; what they are in is left out. "
    "Name a file to see all of its own."
)

Remark = Callable[[Mistake], None]


def unheard(remark: Mistake) -> None:
    """For those who do not want to know."""


class Notes:
    """Collects notes by what is said of them; `tell` says each once, with where."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, None]] = {}
        self._left_out: list[Mistake] = []

    def add(self, what: str, place: str) -> None:
        """`what` says something of `place`; the same of several is one note."""
        self._places.setdefault(what, {})[place] = None

    def leave_out(self, mistakes: Iterable[Mistake]) -> None:
        """For these mistakes something is not read; everything else is."""
        self._left_out += [Mistake(m.place, LEFT_OUT.format(m.what)) for m in mistakes]

    def tell(self, remark: Remark) -> None:
        for what, places in self._places.items():
            remark(_line(what, list(places)))
        for mistake in self._left_out[:MOST_MISTAKES]:
            remark(Mistake(mistake.place, f"{mistake.what}."))
        if (more := len(self._left_out) - MOST_MISTAKES) > 0:
            remark(Mistake("", MORE_LEFT_OUT.format(more)))


def _line(what: str, places: list[str]) -> Mistake:
    end = "" if what.endswith((".", "?")) else "."
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return Mistake(", ".join(places[:SHOWN]) + more, what + end)
