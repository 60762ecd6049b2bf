"""A profile of the measured part of a case, as text to read and as data for other tools."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable, Iterator
from pathlib import Path

import mooring
from mooring.bench.runner import Measured

SHOWN = 50  # functions, of each order
PACKAGE = Path(mooring.__file__).parent
HEADING = f"{'calls':>10} {'own ms':>10} {'own':>6} {'in all ms':>10} {'µs a call':>10}  function"

Place = tuple[str, int, str]  # file, line, function
Figures = tuple[int, float, float]  # calls, own seconds, seconds with what it calls


def write_profile(profile: cProfile.Profile, measured: Measured, file: Path) -> Path:
    """Writes the text to `file` and the data beside it; returns where the data are."""
    data = file.with_suffix(".pstats")
    profile.dump_stats(data)
    file.write_text("\n".join([*text_of(profile, measured), ""]))
    return data


def text_of(profile: cProfile.Profile, measured: Measured) -> Iterator[str]:
    found = _figures(profile)
    total = sum(own for _, own, _ in found.values()) or 1.0
    each = 1e6 * total / measured.pods
    yield f"{measured.case}: {measured.pods:,} pods on {measured.nodes:,} nodes, {each:,.0f} µs a pod"
    yield "The profiler itself makes everything slower, small functions most: read shares, not times."
    yield from _section("by own time", found, total, lambda figures: figures[1])
    yield from _section("by time with what is called", found, total, lambda figures: figures[2])


def _figures(profile: cProfile.Profile) -> dict[Place, Figures]:
    profile.create_stats()
    raw = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return {place: (calls, own, whole) for place, (_, calls, own, whole, _) in raw.items()}


def _section(
    title: str, found: dict[Place, Figures], total: float, order: Callable[[Figures], float]
) -> Iterator[str]:
    yield f"\n{title}\n{HEADING}"
    for place, figures in sorted(found.items(), key=lambda item: -order(item[1]))[:SHOWN]:
        calls, own, whole = figures
        times = f"{1e3 * own:>10.1f} {own / total:>6.1%} {1e3 * whole:>10.1f} {1e6 * whole / calls:>10.1f}"
        yield f"{calls:>10,} {times}  {_named(place)}"


def _named(place: Place) -> str:
    file, line, function = place
    if file == "~":  # of the interpreter, or of an extension
        return function
    path = Path(file)
    inside = path.is_relative_to(PACKAGE)
    named = str(path.relative_to(PACKAGE.parent)) if inside else "/".join(path.parts[-2:])
    return f"{named}:{line} {function}"
