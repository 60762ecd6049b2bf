"""What is said of gangs that cannot be tried: what is wanted, what there is, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.workloads.declared import MatchPolicy, Terms
from mooring.workloads.gang import Gang, Member, Standing, collected

IGNORED = "ignored: {own}; {title} has {counts}, as {who} says"
OTHERS = "others lack pods as well"
MOST_PARTS = 10  # that are told of
OBJECT = "its {}"
WRITTEN = {
    "least": "min-available",
    "total": "total-number",
    "strict": "mode",
    "policy": "match-policy",
    "wait_s": "waiting-time",
    "groups": "groups",
    "topology_spec": "network-topology-spec",
}


def shortage(gang: Gang) -> str:
    """`needs 5 pods; 3 are there, 2 are missing`; of each part that lacks some, where it has parts."""
    terms = gang.terms
    assert terms is not None, "somebody says how many it needs"
    short = gang.short_parts(collected, MOST_PARTS + 1)
    said = [_counted(part.least, collected(gang, part.name), part.name) for part in short[:MOST_PARTS]]
    if len(short) > MOST_PARTS:
        said.append(OTHERS)
    if collected(gang, None) < terms.least or not said:
        said.insert(0, _counted(terms.least, collected(gang, None)))
    gated = sum(bool(member.pod.spec.scheduling_gates) for member in gang.crowds[Standing.ASIDE])
    if gated:
        said.append(f"{gated} more {'has' if gated == 1 else 'have'} scheduling gates")
    return "; ".join(said)


def _counted(least: int, there: int, part: str = "") -> str:
    missing = max(0, least - there)
    pods = f"{part} pod" if part else "pod"
    return (
        f"needs {least} {pods}{'' if least == 1 else 's'}; "
        f"{there} {_is(there)} there, {missing} {_is(missing)} missing"
    )


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def disagreement(member: Member) -> str:
    """What a pod says of its gang that does not count, as others have said otherwise; "" when all agree."""
    own, counts, gang = member.declared.terms, member.gang.terms, member.gang
    if own is None or counts is None or own is counts or own.mistakes or counts.mistakes:
        return ""
    differing = [name for name in WRITTEN if getattr(own, name) != getattr(counts, name)]
    if own.total == own.least and counts.total == counts.least and "total" in differing:
        differing.remove("total")  # nobody wrote it
    if not differing:
        return ""
    return IGNORED.format(
        own=", ".join(f"{WRITTEN[name]} {_value(own, name)}" for name in differing),
        title=f"gang {gang.id}",
        counts=", ".join(_value(counts, name) for name in differing),
        who=next(_who_says(gang, counts), OBJECT.format(gang.dialect.kinds[0].partition(".")[0])),
    )


def _who_says(gang: Gang, terms: Terms) -> Iterator[str]:
    if not gang.by_object:
        yield from (each.pod.key for each in gang.members.values() if each.declared.terms == terms)


def _value(terms: Terms, name: str) -> str:
    value: Any = getattr(terms, name)
    if name == "strict":
        return "Strict" if value else "NonStrict"
    if name == "wait_s":
        return f"{value:g}s" if value else "none"
    if isinstance(value, MatchPolicy):
        return value.value
    return ",".join(value) if isinstance(value, tuple) and value else str(value or "none")
