"""A simulation's result for people: what runs where, and what waits for which reason."""

from __future__ import annotations

from collections import defaultdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mooring.sim.not_acted_on import in_one_line
from mooring.sim.report.gangs import where
from mooring.sim.report.wording import duration
from mooring.sim.result import Result

PODS_SHOWN = 6


def print_result(result: Result) -> None:
    console = Console()
    console.print(_placements(result))
    if result.gangs:
        console.print(_gangs(result))
    if result.pending:
        console.print(_pending(result))
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


def _placements(result: Result) -> Table:
    by_node: dict[str, list[str]] = defaultdict(list)
    for pod, node in result.placements.items():
        by_node[node].append(pod)
    table = Table("node", "pods", "placed", title="Placements", title_justify="left")
    table.columns[1].justify = "right"
    for node in sorted(by_node):
        table.add_row(escape(node), str(len(by_node[node])), escape(_few(by_node[node])))
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
        table.add_row(str(len(pods)), escape(_few(pods)), escape(message))
    return table


def _few(pods: list[str]) -> str:
    shown = "\n".join(pods[:PODS_SHOWN])
    more = len(pods) - PODS_SHOWN
    return f"{shown}\nand {more} more" if more > 0 else shown
