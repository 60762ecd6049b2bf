"""Writes docs/points.md from the code: `python tests/docs/points_page.py`. A test compares the two."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from mooring.framework.api.points import POINTS, Point
from mooring.framework.api.typed_points import Points

PAGE = Path(__file__).parents[2] / "docs" / "points.md"
BEGINS = {  # the moments, by their first point
    "pre_enqueue": "Queueing",
    "pod_seen": "Following the API server",
    "order_of": "Pods tried together",
    "pre_filter": "Scheduling cycle",
    "pre_bind_pre_flight": "Binding cycle",
    "before_pre_filter": "Transformers",
    "on_session_open": "Sessions",
}
SHOWN = {  # types as policies write them
    r"\bAnswer\b": "Status | None",
    r"\bAwaited\b": "Status | None",
    r"\bNodeView\b": "Node",
    r"\bBools\b": "np.ndarray",
    r"\bInts\b": "np.ndarray",
}
HEAD = """# Every point

The methods a plugin may have, each with the exact signature, when it is called and what it may return. This
page is made from the code. How to write a plugin is in the [plugin guide](plugin-guide.md), what a `Status`
means under [answers](plugin-guide.md#answers), and which points run when in [framework](framework.md#points).

Points are called by position. `node` is a `Node`, with labels, taints, pods and what is free; `node_name`
is a `str`. `mooring check` refuses a method that takes another number of things, that uses one by the name of
something it is not, or whose types no value fits. "Enabled by" is kube-scheduler's name in a configuration.
"""
NORMALIZE = (
    "normalize(values: Sequence[int]) -> Sequence[int]",
    "With the sorted distinct raw scores of the nodes that take the pod. A method, or a function kept with "
    "`staticmethod`.",
    "As many scores from 0 to 100.",
)


def page() -> str:
    lines = [HEAD]
    for point in POINTS.values():
        if point.name in BEGINS:
            lines.append(f"## {BEGINS[point.name]}\n")
        lines += _section(point)
    return "\n".join(lines)


def _section(point: Point) -> Iterator[str]:
    signature, when, answer = NORMALIZE if point.name == "normalize" else _told(point)
    asynchronous = "async " if point.may_await else ""
    yield f"### {point.name}\n"
    yield f"`{asynchronous}def {signature}`\n"
    yield from (f"{line}" for line in textwrap.wrap(f"Called: {when}", 118))
    yield ""
    yield from textwrap.wrap(f"Returns: {answer}", 118)
    yield ""
    by = f"Enabled by: `{point.config}`." if point.config else "Active wherever the plugin is enabled."
    yield by + (" May be `async`, or not." if point.may_await else "") + "\n"


def _told(point: Point) -> tuple[str, str, str]:
    method = getattr(Points, point.name)
    signature = str(inspect.signature(method)).replace("'", "")
    for old, new in SHOWN.items():
        signature = re.sub(old, new, signature)
    when, _, answer = inspect.getdoc(method).partition("\n\nReturns: ")
    return f"{point.name}{signature}", _line(when), _line(answer)


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page())
