"""Small drawings in SVG and HTML: lines over time, bars, and a map of cells."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mooring.sim.report.wording import duration, percent, text

WIDTH, HEIGHT = 1080, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 16, 12, 30
SERIES = 8  # colours there are
STEPS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800,
)  # fmt: skip
MOST_TICKS = 9
TAIL = 0.03  # of the time, drawn beyond the end: what happens last is seen as well
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Line(msgspec.Struct, frozen=True):
    """A value as it was from each moment on."""

    name: str
    points: tuple[tuple[float, float], ...]
    color: int


class Frame(msgspec.Struct, frozen=True):
    """The area of a chart: time from 0 to `end` across, values from 0 to `top` up."""

    end: float
    top: float = 1.0
    height: int = HEIGHT

    @property
    def floor(self) -> int:
        return self.height - BOTTOM

    def x(self, time: float) -> float:
        span = self.end * (1 + TAIL)
        return LEFT + (time / span if span > 0 else 0.0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        part = min(value / self.top, 1.0) if self.top > 0 else 0.0
        return self.floor - part * (self.floor - TOP)


def share_chart(lines: Sequence[Line], end: float, label: str) -> str:
    """Shares from 0 to 100% that stay until they change."""
    frame = Frame(end)
    return _chart(frame, [(level, percent(level)) for level in QUARTERS], lines, label)


def count_chart(line: Line, end: float, most: int, label: str) -> str:
    """A count that stays until it changes."""
    top = -(-most // 4) * 4  # so that the lines of the grid fall on whole numbers
    frame = Frame(end, float(top), 170)
    return _chart(frame, [(level * top, f"{level * top:,.0f}") for level in QUARTERS], [line], label)


def _chart(frame: Frame, levels: Sequence[tuple[float, str]], lines: Sequence[Line], label: str) -> str:
    parts = [
        *(_level(frame, value, name) for value, name in levels),
        *(_tick(frame, t) for t in _times(frame)),
    ]
    parts += [_path(frame, line) for line in lines]
    size = f"0 0 {WIDTH} {frame.height}"
    return f'<svg class="chart" viewBox="{size}" role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'


def bar(part: float, peak: float, *, color: int, title: str) -> str:
    """How full something is, with a mark at the most it ever was."""
    full = min(max(part, 0.0), 1.0) * 100
    mark = min(max(peak, 0.0), 1.0) * 100
    tick = f'<i style="left:{mark:.1f}%"></i>' if mark > 0 else ""
    return f'<span class="bar c{color}" title="{text(title)}"><b style="width:{full:.1f}%"></b>{tick}</span>'


def cells(parts: Sequence[tuple[str, float]]) -> str:
    """One square for each, the fuller the darker: a thousand nodes at a glance."""
    squares = "".join(
        f'<i style="--full:{min(max(part, 0.0), 1.0):.2f}" title="{text(name)}: {percent(part)}"></i>'
        for name, part in parts
    )
    return f'<div class="cells">{squares}</div>'


def _level(frame: Frame, value: float, name: str) -> str:
    y = frame.y(value)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{name}</text>'
    )


def _times(frame: Frame) -> list[float]:
    """Round moments, not too many."""
    step = next((step for step in STEPS if frame.end / step <= MOST_TICKS), None)
    step = step or STEPS[-1] * (1 + int(frame.end / STEPS[-1] / MOST_TICKS))
    return [float(step * index) for index in range(int(frame.end / step) + 1)]


def _tick(frame: Frame, time: float) -> str:
    x, floor = frame.x(time), frame.floor
    return (
        f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{floor}" y2="{floor + 5}"/>'
        f'<text x="{x:.1f}" y="{floor + 20}" text-anchor="middle">{duration(time)}</text>'
    )


def _path(frame: Frame, line: Line) -> str:
    """Right until the next moment, then up or down."""
    time, value = line.points[0]
    steps = [f"M{frame.x(time):.1f} {frame.y(value):.1f}"]
    steps += [f"H{frame.x(time):.1f}V{frame.y(value):.1f}" for time, value in line.points[1:]]
    steps.append(f"H{WIDTH - RIGHT}")
    return f'<path class="line c{line.color}" d="{"".join(steps)}"><title>{text(line.name)}</title></path>'
