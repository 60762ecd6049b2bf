"""The gangs of the page: what became of each, and a picture of which gang is on which rack."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from mooring.sim.report.charts import SERIES
from mooring.sim.report.wording import duration, plural, text
from mooring.sim.result import Result

EVERYWHERE = ("all nodes",)
MOST_SQUARES = 64  # on one node; the rest is a number
MOST_NODES = 600  # drawn: nobody looks at more, and the page stays light


def gangs(result: Result) -> str:
    """Nothing when there are none."""
    if not result.gangs:
        return ""
    colors = {name: number % SERIES for number, name in enumerate(result.gangs)}
    note = "each square is a pod, each box a node"
    return (
        f"<section><h2>Gangs <small>{note}</small></h2>"
        f"{_table(result, colors)}{_picture(result, colors)}</section>"
    )


def _table(result: Result, colors: Mapping[str, int]) -> str:
    rows = []
    for name, gang in result.gangs.items():
        started = "" if gang.started_s is None else duration(gang.started_s)
        state = "" if gang.pods else '<span class="tag bad">not started</span>'
        rows.append(
            f'<tr><td class="w"><i class="swatch c{colors[name]}"></i><span class="mono">{text(name)}</span>'
            f'{state}</td><td class="n">{gang.placed:,} of {gang.members:,}</td><td class="n">{started}</td>'
            f'<td class="w">{text(where(gang.pods, result.network))}</td><td>{text(gang.message)}</td></tr>'
        )
    head = (
        '<tr><th>Gang</th><th class="n">Placed</th><th class="n">Started</th><th>Where</th>'
        "<th>Why others wait</th></tr>"
    )
    return f'<div class="scroll"><table>{head}{"".join(rows)}</table></div>'


def where(pods: Mapping[str, str], network: Mapping[str, tuple[str, ...]]) -> str:
    """`rack-1: 8, rack-2: 4`, or how many nodes when no domains are known."""
    if not pods:
        return ""
    domains = Counter("/".join(network[node]) for node in pods.values() if node in network)
    if not domains:
        return plural(len(set(pods.values())), "node")
    return ", ".join(f"{domain}: {count}" for domain, count in sorted(domains.items()))


def _picture(result: Result, colors: Mapping[str, int]) -> str:
    """Nodes by domain, with a square for each pod of a gang on them."""
    on: dict[str, list[str]] = defaultdict(list)
    for name, gang in result.gangs.items():
        for node in gang.pods.values():
            on[node].append(name)
    drawn = [node.name for node in result.nodes if node.name in result.network or node.name in on]
    racks: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node in drawn[:MOST_NODES]:
        racks[result.network.get(node, EVERYWHERE)].append(node)
    boxes = "".join(_rack(path, racks[path], on, colors) for path in sorted(racks))
    left = len(drawn) - MOST_NODES
    more = f'<p class="soft">and {plural(left, "node")} more</p>' if left > 0 else ""
    return f'<div class="racks">{boxes}</div>{more}'


def _rack(
    path: tuple[str, ...], nodes: Sequence[str], on: Mapping[str, list[str]], colors: Mapping[str, int]
) -> str:
    drawn = "".join(_node(node, on.get(node, []), colors) for node in nodes)
    return f'<div class="rack"><b>{text(" / ".join(path))}</b>{drawn}</div>'


def _node(node: str, gangs_there: Sequence[str], colors: Mapping[str, int]) -> str:
    counts = Counter(gangs_there)
    title = node + "".join(f"\n{name}: {count}" for name, count in counts.items())
    squares = "".join(f'<i class="c{colors[name]}"></i>' for name in gangs_there[:MOST_SQUARES])
    rest = len(gangs_there) - MOST_SQUARES
    more = f'<span class="num">+{rest}</span>' if rest > 0 else ""
    return f'<div class="seats" title="{text(title)}">{squares}{more}</div>'
