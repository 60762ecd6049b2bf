"""From an object to the pods it makes, by the paths of its row."""

from __future__ import annotations

from typing import Any

from mooring.workloads.owners.exclusive import with_exclusive_topology
from mooring.workloads.owners.gangs import gangs_of, named_in
from mooring.workloads.owners.paths import at, mapping, mappings, number, places, word
from mooring.workloads.owners.rows import DONE, READY, Expansion, OwnerKind, PodSet, Role

MOST_PODS = 100_000  # of one role: more is a slip of the pen
DONE_WORDS = ("Complete",)


def expanded(data: dict[str, Any], row: OwnerKind) -> Expansion:
    """By the paths of a row."""
    sets: list[PodSet] = []
    leasts: dict[str, int] = {}
    for copy in range(_count(number(data, row.copies), 1)) if row.copies else (-1,):
        before = ""
        for role in row.roles:
            for way, element in places(data, role.each):
                name = role.name or word(element, role.named) or _unnamed(way[-1])
                made = _sets(data, row, role, name, element, copy, before)
                least = number(element, role.least)
                for one in made:
                    leasts[one.name] = one.count if least is None else min(least, one.count)
                sets += made
                before = name if made else before
    sets = _with_schedulers(data, row, sets)
    gangs, placed = gangs_of(data, row, sets, leasts)
    return Expansion(tuple(with_exclusive_topology(data, row, placed)), gangs)


def _sets(
    data: dict[str, Any], row: OwnerKind, role: Role, name: str, element: Any, copy: int, before: str
) -> list[PodSet]:
    template = _template(role, element)
    if template is None or _is_left_out(data, role, element):
        return []
    count = _pods(role, element, template)
    total = number(element, role.total) if role.total else None
    at_once = count if total is None else min(count, total)
    owner = str(mapping(data, "metadata").get("name") or mapping(data, "metadata").get("generateName") or "")
    copies = range(_count(number(element, role.copies), 1)) if role.copies else (copy,)
    made = []
    for each in copies:
        suffix = f"-{each}" if each >= 0 else ""
        known = {"owner": owner, "role": name, "copy": str(max(each, 0))}
        made.append(
            PodSet(
                name=f"{name}{suffix}",
                template=template,
                count=at_once,
                total=count if total is None else total,
                pods=_filled(role.pods, known),
                base=f"{owner}-{name}-" if role.name != "replica" else f"{owner}-",
                labels={key: _filled(value, known) for key, value in role.labels.items()},
                part=name,
                after=_after(data, role, element, before, copy),
            )
        )
    return made


def _template(role: Role, element: Any) -> dict[str, Any] | None:
    found = (at(element, path) for path in role.templates)
    return next((each for each in found if isinstance(each, dict)), role.fallback)


def _is_left_out(data: dict[str, Any], role: Role, element: Any) -> bool:
    if role.absent and at(element, role.absent):
        return True
    value = at(data, role.only[0]) if role.only else None
    return value is not None and role.only is not None and value != role.only[1]


def _pods(role: Role, element: Any, template: dict[str, Any]) -> int:
    notes = mapping(template, "metadata.annotations")
    written = [int(text) for path in role.count if (text := str(notes.get(path[1:], ""))).isdecimal()]
    known = written[0] if written else number(element, *role.count)
    count = max(_count(known, role.default), number(element, role.floor) or 0)
    times = number(element, role.times)
    return max(_count(count * (1 if times is None else times), 0) - role.minus, 0)


def _unnamed(step: str | int) -> str:
    """What a role is called that has no name: by its key, or by its place as Volcano has it."""
    return f"default{step}" if isinstance(step, int) else step.lower()


def _count(value: int | None, default: int) -> int:
    return min(default if value is None else value, MOST_PODS)


def _filled(pattern: str, known: dict[str, str]) -> str:
    """The pattern with what is known of the set; what is known of a pod only stays."""
    for key, value in known.items():
        pattern = pattern.replace("{" + key + "}", value)
    return pattern


def _after(
    data: dict[str, Any], role: Role, element: Any, before: str, copy: int
) -> tuple[tuple[str, str], ...]:
    """The roles that come before, with the copy's own suffix."""
    suffix = f"-{copy}" if copy >= 0 else ""
    found = [(f"{name}{suffix}", state) for name, state in _depends(at(element, role.depends))]
    if role.waits is not None:
        path, value, name = role.waits
        if (name or before) and (not path or at(data, path) == value):
            found.append((f"{name or before}{suffix}", READY))
    return tuple(found)


def _depends(value: Any) -> list[tuple[str, str]]:
    """`{name: [a, b]}` as Volcano has it, `[{name: a, status: Complete}]` as JobSet has."""
    if isinstance(value, dict):
        names = value.get("name")
        return [(str(name), READY) for name in (names if isinstance(names, list) else ())]
    listed = mappings({"depends": value}, "depends")
    return [(word(one, "name"), DONE if word(one, "status") in DONE_WORDS else READY) for one in listed]


def _with_schedulers(data: dict[str, Any], row: OwnerKind, sets: list[PodSet]) -> list[PodSet]:
    """Templates with the scheduler that the object as a whole is for."""
    if row.gang is None or row.gang.scheduler is None:
        return sets
    path, default = row.gang.scheduler
    return [named_in(one, at(data, path) or default) for one in sets]
