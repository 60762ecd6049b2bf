"""The page as a whole, and the file it is written to."""

from __future__ import annotations

from pathlib import Path

from mooring.sim.report import sections
from mooring.sim.report.gangs import gangs
from mooring.sim.report.nodes import nodes
from mooring.sim.report.style import STYLE
from mooring.sim.report.wording import duration, percent, plural
from mooring.sim.result import Result

FILE = "index.html"


def write_report(result: Result, directory: str | Path) -> Path:
    """Writes the page into a folder, which is made if need be; gives the page's path."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(render(result), encoding="utf-8")
    return path


def render(result: Result) -> str:
    """The page."""
    names = sections.resources_of(result)
    parts = [
        sections.tiles(result),
        sections.left_alone(result),
        sections.utilisation(result, names),
        sections.waiting_over_time(result),
        gangs(result),
        sections.pending(result),
        sections.evicted(result),
        nodes(result),
        sections.events(result),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Mooring simulation</title><style>{STYLE}</style></head><body><main>"
        f"<header><h1>Mooring simulation</h1><small>{_subtitle(result)}</small></header>"
        f"{''.join(parts)}<footer>Made by Mooring. Resources are those pods request.</footer>"
        "</main></body></html>\n"
    )


def _subtitle(result: Result) -> str:
    summary = result.summary
    placed = percent(summary.bound / summary.pods) if summary.pods else "none"
    time = duration(summary.end_time_s)
    return f"{placed} of {plural(summary.pods, 'pod')} placed on {plural(summary.nodes, 'node')} in {time}"
