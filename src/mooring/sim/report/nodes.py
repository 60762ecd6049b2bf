"""The nodes of the page: alike ones together, the largest group first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mooring.sim.report.charts import bar, cells
from mooring.sim.report.sections import color_of, name_list, resources_of
from mooring.sim.report.wording import amount, plural, resource_name, share, size, text
from mooring.sim.result import Result
from mooring.sim.usage import Amounts, NodeUse

ZONE = "topology.kubernetes.io/zone"
OPEN_UP_TO = 40  # nodes of a group that is shown unfolded


def nodes(result: Result) -> str:
    if not result.nodes:
        return "<section><h2>Nodes</h2><p>There are none.</p></section>"
    names = resources_of(result)
    placed: dict[str, list[str]] = defaultdict(list)
    for key, node in result.placements.items():
        placed[node].append(key)
    note = "bars show what pods request at the end, marks the most they ever did"
    groups = "".join(_group(group, names, placed) for group in _groups(result.nodes))
    return f"<section><h2>Nodes <small>{note}</small></h2>{groups}</section>"


def _groups(uses: Sequence[NodeUse]) -> list[list[NodeUse]]:
    """Nodes of one size belong together."""
    groups: dict[str, list[NodeUse]] = defaultdict(list)
    for node in uses:
        groups[size(node.capacity)].append(node)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0].name))


def _group(group: list[NodeUse], names: Sequence[str], placed: dict[str, list[str]]) -> str:
    shown = [name for name in names if any(node.capacity.get(name) for node in group)]
    is_large = len(group) > OPEN_UP_TO
    overview = _total(group, shown, names) + cells([(n.name, _fullest(n)) for n in group]) if is_large else ""
    return (
        f'<details class="group"{"" if is_large else " open"}><summary>{text(_shared_name(group))}'
        f"{_tag(plural(len(group), 'node'))}{_tag(size(group[0].capacity))}{overview}</summary>"
        f'<div class="scroll">{_table(group, shown, names, placed)}</div></details>'
    )


def _table(
    group: list[NodeUse], shown: Sequence[str], names: Sequence[str], placed: dict[str, list[str]]
) -> str:
    heads = "".join(f"<th>{text(resource_name(name))}</th>" for name in shown if name != "pods")
    rows = "".join(_row(node, shown, names, placed.get(node.name, [])) for node in group)
    return f'<table class="nodes"><tr><th>Node</th>{heads}<th>Pods placed</th></tr>{rows}</table>'


def _row(node: NodeUse, shown: Sequence[str], names: Sequence[str], keys: list[str]) -> str:
    drawn = (_bar(name, node.used, node.peak, node.capacity, names) for name in shown if name != "pods")
    bars = "".join(f"<td>{each}</td>" for each in drawn)
    pods = f"<details><summary>{len(keys):,}</summary>{name_list(keys)}</details>" if keys else "0"
    name = f'<td class="w"><span class="mono">{text(node.name)}</span>{_tags(node)}</td>'
    return f"<tr>{name}{bars}<td>{pods}</td></tr>"


def _shared_name(group: list[NodeUse]) -> str:
    """What the names of the group begin with."""
    first, last = min(node.name for node in group), max(node.name for node in group)
    same = next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )
    return first[:same].rstrip("-.0123456789") or "nodes" if len(group) > 1 else first


def _total(group: list[NodeUse], shown: Sequence[str], names: Sequence[str]) -> str:
    """One line for the whole group."""
    used, capacity = _sum([node.used for node in group]), _sum([node.capacity for node in group])
    columns = "".join(
        f"<td>{text(resource_name(name))}{_bar(name, used, used, capacity, names)}</td>" for name in shown
    )
    return f'<table class="total"><tr>{columns}</tr></table>'


def _bar(name: str, used: Amounts, peak: Amounts, capacity: Amounts, names: Sequence[str]) -> str:
    there, taken, most = capacity.get(name, 0), used.get(name, 0), peak.get(name, 0)
    title = f"{amount(name, taken)} of {amount(name, there)}, at most {amount(name, most)}"
    drawn = bar(share(taken, there), share(most, there), color=color_of(names, name), title=title)
    return f'{drawn}<span class="num">{amount(name, taken)} of {amount(name, there)}</span>'


def _tags(node: NodeUse) -> str:
    tags = [node.labels[ZONE]] if ZONE in node.labels else []
    tags += ["cordoned"] if node.cordoned else []
    tags += ["left"] if node.left else []
    return "".join(map(_tag, tags))


def _tag(words: str) -> str:
    return f'<span class="tag">{text(words)}</span>'


def _fullest(node: NodeUse) -> float:
    """The share of the scarcest resource."""
    return max((share(node.used.get(name, 0), there) for name, there in node.capacity.items()), default=0.0)


def _sum(amounts: list[Amounts]) -> Amounts:
    total: Amounts = {}
    for each in amounts:
        for name, value in each.items():
            total[name] = total.get(name, 0) + value
    return total
