"""The parts of the page, each from a finished run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mooring.sim.report.charts import SERIES, Line, count_chart, share_chart
from mooring.sim.report.wording import amount, duration, in_order, percent, plural, resource_name, share, text
from mooring.sim.result import Result
from mooring.sim.usage import Sample

WAITING_COLOR = 7
MOST_LISTED = 300  # names in one list: nobody reads more, and the page stays light


def tiles(result: Result) -> str:
    """The run in six numbers."""
    summary = result.summary
    shown = [
        ("Nodes", f"{summary.nodes:,}", ""),
        ("Pods", f"{summary.pods:,}", ""),
        ("Placed", f"{summary.bound:,}", "good" if summary.bound else ""),
        ("Pending", f"{summary.pending:,}", "bad" if summary.pending else ""),
        ("Evicted", f"{summary.evicted:,}", "bad" if summary.evicted else ""),
        ("Simulated time", duration(summary.end_time_s), ""),
    ]
    boxes = (
        f'<div class="tile {look}"><b>{value}</b><span>{name}</span></div>' for name, value, look in shown
    )
    return f'<div class="tiles">{"".join(boxes)}</div>'


def utilisation(result: Result, names: Sequence[str]) -> str:
    """How full the cluster was over time, resource by resource."""
    samples = result.samples
    if not samples:
        return ""
    end = max(result.summary.end_time_s, samples[-1].time)
    chart = share_chart(_lines(samples, names), end, "Share of resources in use over time") if end else ""
    note = "" if end else " <small>everything happened at one moment</small>"
    return f"<section><h2>Utilisation{note}</h2>{chart}{_legend(samples, names)}</section>"


def waiting_over_time(result: Result) -> str:
    """How many pods waited over time; nothing when none ever did."""
    most = max((sample.pending for sample in result.samples), default=0)
    end = max(result.summary.end_time_s, result.samples[-1].time) if result.samples else 0.0
    if not most or not end:
        return ""
    points = tuple((sample.time, float(sample.pending)) for sample in result.samples)
    chart = count_chart(Line("Waiting pods", points, WAITING_COLOR), end, most, "Waiting pods over time")
    return f"<section><h2>Waiting pods <small>at most {most:,}</small></h2>{chart}</section>"


def pending(result: Result) -> str:
    """Why pods wait, the most frequent reason first."""
    if not result.pending:
        return ""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for key, pod in result.pending.items():
        name = f"{key} (nominated: {pod.nominated})" if pod.nominated else key
        groups[pod.message, pod.plugins].append(name)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    parts = (_reason(message, plugins, keys) for (message, plugins), keys in ordered)
    return f"<section><h2>Pending <small>by reason</small></h2>{''.join(parts)}</section>"


def left_alone(result: Result) -> str:
    """What was read and not acted on."""
    if not result.not_acted_on:
        return ""
    listed = "".join(f"<li>{text(each)}</li>" for each in result.not_acted_on)
    return f"<section><h2>Not acted on</h2><ul>{listed}</ul></section>"


def evicted(result: Result) -> str:
    if not result.evicted:
        return ""
    return f"<section><h2>Evicted</h2>{name_list(result.evicted)}</section>"


def events(result: Result) -> str:
    """The last Events, the newest first."""
    if not result.events:
        return ""
    rows = "".join(
        f'<tr><td class="n">{duration(event.time)}</td>'
        f'<td class="w">{_kind(event.type)}{text(event.reason)}{_times(event.count)}</td>'
        f'<td class="mono">{text(event.key)}</td><td>{text(event.message)}</td></tr>'
        for event in reversed(result.events)
    )
    head = '<tr><th class="n">Time</th><th>Reason</th><th>Object</th><th>Message</th></tr>'
    count = plural(len(result.events), "event")
    return (
        f"<section><details><summary><b>Last {count}</b></summary>"
        f'<div class="scroll"><table>{head}{rows}</table></div></details></section>'
    )


def name_list(keys: Sequence[str]) -> str:
    items = "".join(f'<li class="mono">{text(key)}</li>' for key in keys[:MOST_LISTED])
    rest = len(keys) - MOST_LISTED
    more = f'<p class="soft">and {rest:,} more</p>' if rest > 0 else ""
    return f'<ul class="pods">{items}</ul>{more}'


def color_of(names: Sequence[str], name: str) -> int:
    return list(names).index(name) % SERIES


def resources_of(result: Result) -> list[str]:
    """The resources worth showing: those some node has."""
    names = {name for node in result.nodes for name, value in node.capacity.items() if value}
    return in_order(names | {"cpu", "memory", "pods"})


def _lines(samples: Sequence[Sample], names: Sequence[str]) -> list[Line]:
    return [
        Line(
            resource_name(name),
            tuple((s.time, share(s.used.get(name, 0), s.capacity.get(name, 0))) for s in samples),
            color_of(names, name),
        )
        for name in names
    ]


def _legend(samples: Sequence[Sample], names: Sequence[str]) -> str:
    last = samples[-1]
    rows = []
    for name in names:
        used, capacity = last.used.get(name, 0), last.capacity.get(name, 0)
        peak = max(share(s.used.get(name, 0), s.capacity.get(name, 0)) for s in samples)
        rows.append(
            f'<tr><td><i class="swatch c{color_of(names, name)}"></i>{text(resource_name(name))}</td>'
            f'<td class="n">{amount(name, used)} of {amount(name, capacity)}</td>'
            f'<td class="n">{percent(share(used, capacity))}</td><td class="n">{percent(peak)}</td></tr>'
        )
    columns = "".join(f'<th class="n">{column}</th>' for column in ("At the end", "Share", "Peak"))
    return f"<table><tr><th>Requested</th>{columns}</tr>{''.join(rows)}</table>"


def _reason(message: str, plugins: Sequence[str], keys: list[str]) -> str:
    tags = "".join(f'<span class="tag">{text(plugin)}</span>' for plugin in plugins)
    return (
        f'<details><summary class="reason"><span class="count">{len(keys):,}</span>'
        f"<span>{text(message)}{tags}</span></summary>{name_list(sorted(keys))}</details>"
    )


def _kind(event_type: str) -> str:
    return '<span class="tag bad">Warning</span> ' if event_type == "Warning" else ""


def _times(count: int) -> str:
    return f' <span class="tag">{count:,} times</span>' if count > 1 else ""
