"""A simulation's result for people: what runs where, and what waits for which reason.

What the run has brought comes first and is shown whole; of what was there before, some.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mooring.sim.not_acted_on import in_one_line
from mooring.sim.report.gangs import where
from mooring.sim.report.wording import duration
from mooring.sim.result import Result

PODS_SHOWN = 6  # in one cell
ALL_SHOWN = 60  # new pods that are shown whole where nothing was there before
NODES_SHOWN = 5  # with their scores, for one pod

NO_NODES = "no node: the manifests hold none, so nothing can be placed (try `kubectl get nodes -o yaml`)"
NO_PODS = "no pod: the manifests hold none, and nothing that makes pods"


def print_result(result: Result) -> None:
    console = Console()
    shown = [_placements(result), _gangs(result), _pending(result), _scores(result)]
    for table in shown:
        if table.row_count:
            console.print(table)
    if result.refused:
        told = [f"{pod}: {why}" for pod, why in result.refused.items()]
        console.print(f"not created by the API server:\n{_few(told)}", markup=False, highlight=False)
    if result.evicted:
        console.print(f"evicted: {', '.join(result.evicted)}", markup=False)
    if result.stopped:
        console.print(result.stopped, markup=False, highlight=False)
    if result.not_acted_on:
        console.print(in_one_line(result.not_acted_on), markup=False, highlight=False, soft_wrap=True)
    summary = result.summary
    console.print(
        f"{summary.bound} of {summary.pods} pods placed on {summary.nodes} nodes, "
        f"{summary.pending} pending, {summary.evicted} evicted, after {summary.end_time_s:g} s",
        highlight=False,
    )


def notes(result: Result) -> Iterator[str]:
    """What is missing for the result to say anything."""
    if not result.summary.nodes:
        yield NO_NODES
    if not result.summary.pods:
        yield NO_PODS


def _placements(result: Result) -> Table:
    new: dict[str, list[str]] = defaultdict(list)
    before: dict[str, list[str]] = defaultdict(list)
    for pod, node in result.placements.items():
        (before if pod in result.from_before else new)[node].append(pod)
    headings = ("placed", "there before") if before else ("placed",)
    table = Table("node", "pods", *headings, title="Placements", title_justify="left")
    table.columns[1].justify = "right"
    for node in (*sorted(new), *sorted(before.keys() - new.keys())):
        count = len(new[node]) + len(before[node])
        cells = (_new(result, new[node]), _few(before[node]))[: len(headings)]
        table.add_row(escape(node), str(count), *map(escape, cells))
    return table


def _gangs(result: Result) -> Table:
    table = Table(
        "gang", "placed", "started", "where", "why others wait", title="Gangs", title_justify="left"
    )
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, gang in result.gangs.items():
        started = "" if gang.started_s is None else duration(gang.started_s)
        place = where(gang.pods, result.network)
        placed = f"{gang.placed} of {gang.members}"
        table.add_row(escape(name), placed, started, escape(place), escape(gang.message))
    return table


def _pending(result: Result) -> Table:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for pod, why in result.pending.items():
        by_reason[why.message].append(pod)
    table = Table("pods", "waiting", "why", title="Pending", title_justify="left")
    table.columns[0].justify = "right"
    for message, pods in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        new = [pod for pod in pods if pod not in result.from_before]
        before = [pod for pod in pods if pod in result.from_before]
        names = "\n".join(filter(None, (_new(result, new), _few(before))))
        table.add_row(str(len(pods)), escape(names), escape(message))
    return table


def _scores(result: Result) -> Table:
    """The best nodes of each pod that was placed, the one it has first."""
    table = Table("pod", "node", "total", title="Scores", title_justify="left")
    table.columns[2].justify = "right"
    for pod, totals in (result.scores or {}).items():
        own = result.placements.get(pod)
        best = sorted(totals, key=lambda node: (node != own, -totals[node], node))
        numbers = "\n".join(str(totals[node]) for node in best[:NODES_SHOWN])
        table.add_row(escape(pod), escape(_few(best, NODES_SHOWN)), numbers)
    return table


def _new(result: Result, pods: list[str]) -> str:
    """Whole beside what was there before; where nothing was, a large run is shown as an overview."""
    whole = bool(result.from_before) or result.summary.pods <= ALL_SHOWN
    return "\n".join(pods) if whole else _few(pods)


def _few(names: list[str], most: int = PODS_SHOWN) -> str:
    shown = "\n".join(names[:most])
    more = len(names) - most
    return f"{shown}\nand {more} more" if more > 0 else shown
