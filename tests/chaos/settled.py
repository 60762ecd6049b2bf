"""What must hold of a cluster at rest: nobody waits who could have a place. The oracle says who could."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from chaos.ledger import Entry, Gang
from mooring.model.objects import Node, Pod
from oracle import Question
from oracle_preemption import rescue


def waiting_though_they_fit(
    nodes: Iterable[Node], pods: Iterable[Entry], gangs: dict[str, Gang]
) -> Iterator[str]:
    """Pods that fit on a node, or for which others have to go; gangs of which enough fit at once."""
    there = list(nodes)
    entries = list(pods)
    placed = [(each.model, each.node) for each in entries if each.takes_room]
    waiting = [each for each in entries if not each.node and not each.deleting]
    nominated = [(each.model, each.nominated) for each in waiting if each.nominated]
    leaving = {each.uid for each in entries if each.deleting}
    for each in waiting:
        if not each.gang:
            yield from fits(there, placed, nominated, each.model, leaving)
    in_gangs = sorted((each for each in waiting if each.gang), key=lambda each: each.gang)
    for name, members in groupby(in_gangs, key=lambda each: each.gang):
        yield from gang_fits(there, placed, nominated, name, gangs[name], [each.model for each in members])


def fits(
    nodes: list[Node],
    placed: list[tuple[Pod, str]],
    nominated: list[tuple[Pod, str]],
    pod: Pod,
    leaving: set[str],
) -> Iterator[str]:
    question = Question(nodes, placed, nominated, pod)
    outcome = question.outcome()
    if outcome.totals:
        yield f"{pod.key} waits and fits on {', '.join(sorted(outcome.totals))}"
        return
    plans = rescue(question, outcome, leaving).plans
    if plans:
        victims = ", ".join(each.key for each in plans[0].victims)
        yield f"{pod.key} waits and fits on {plans[0].node} without {victims}"


def gang_fits(
    nodes: list[Node],
    placed: list[tuple[Pod, str]],
    nominated: list[tuple[Pod, str]],
    name: str,
    gang: Gang,
    waiting: list[Pod],
) -> Iterator[str]:
    """Members are alike and ask for room only, so whoever takes the first node that fits leaves the most."""
    needed = 1 if gang.started else gang.least - len(gang.bound)
    if len(waiting) < needed:
        return  # its pods are not all there
    found = []
    for pod in waiting:
        totals = Question(nodes, [*placed, *found], nominated, pod).outcome().totals
        if totals:
            found.append((pod, min(totals)))
    if found and len(found) >= needed:
        yield f"gang {name} waits, and {len(found)} of it fit where {needed} are needed"
