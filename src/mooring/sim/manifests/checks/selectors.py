"""Mistakes in label selectors and node selectors."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.errors import Mistake, did_you_mean
from mooring.model.selectors import FIELD_OPERATORS, LABEL_OPERATORS, NODE_NAME_FIELD, NODE_OPERATORS, int64
from mooring.sim.manifests.located_value import Spot


def label_selector(selector: Spot) -> Iterator[Mistake]:
    for requirement in selector.child("matchExpressions").items():
        yield from _requirement(requirement, LABEL_OPERATORS)


def node_term(term: Spot) -> Iterator[Mistake]:
    for requirement in term.child("matchExpressions").items():
        yield from _requirement(requirement, NODE_OPERATORS)
    for requirement in term.child("matchFields").items():
        yield from _requirement(requirement, FIELD_OPERATORS)
        field = requirement.child("key")
        if isinstance(field.value, str) and field.value != NODE_NAME_FIELD:
            yield field.wrong(f'is not a node field; only "{NODE_NAME_FIELD}" is')


def one_of(spot: Spot, known: tuple[str, ...], *, or_empty: bool = False) -> Iterator[Mistake]:
    """The value, when there is one, is one of the known words; `or_empty` where "" is the same as nothing."""
    if isinstance(spot.value, str) and spot.value not in known and (spot.value or not or_empty):
        what = f'"{spot.value}" is none of {", ".join(known)}.'
        yield spot.note(f" {what}{did_you_mean(spot.value, known)}")


def _requirement(requirement: Spot, operators: tuple[str, ...]) -> Iterator[Mistake]:
    operator = requirement.child("operator")
    yield from one_of(operator, operators)
    if isinstance(operator.value, str) and operator.value in operators:
        yield from _values(requirement.child("values"), operator.value)


def _values(values: Spot, operator: str) -> Iterator[Mistake]:
    found = values.items()
    if operator in ("In", "NotIn") and not found:
        yield values.note(f" is empty: operator {operator} needs values.")
    elif operator in ("Exists", "DoesNotExist") and found:
        yield values.note(f" is not empty: operator {operator} takes no values.")
    elif operator in ("Gt", "Lt") and not (len(found) == 1 and _is_whole(found[0].value)):
        yield values.note(f" is not one whole number, as operator {operator} needs.")


def _is_whole(value: object) -> bool:
    return isinstance(value, str) and int64(value) is not None
