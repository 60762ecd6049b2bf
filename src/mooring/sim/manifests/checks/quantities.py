"""Mistakes in resource quantities."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from mooring.errors import Mistake, QuantityError
from mooring.model.quantity import parse_quantity
from mooring.sim.manifests.located_value import Spot


def resource_list(resources: Spot) -> Iterator[Mistake]:
    """A mapping of resource names to quantities."""
    for quantity in resources.entries():
        yield from _one(quantity)


def requirements(resources: Spot) -> Iterator[Mistake]:
    """A container's `resources`: both lists, and no request above its limit."""
    requests, limits = resources.child("requests"), resources.child("limits")
    yield from resource_list(requests)
    yield from resource_list(limits)
    for request in requests.entries():
        limit = limits.child(str(request.path[-1]))
        asked, allowed = _value(request), _value(limit)
        if asked is not None and allowed is not None and asked > allowed:
            yield request.wrong(f'is above the limit "{limit.value}"')


def _one(quantity: Spot) -> Iterator[Mistake]:
    if quantity.value is None or isinstance(quantity.value, (dict, list, bool)):
        return
    try:
        amount = parse_quantity(quantity.value)
    except QuantityError as error:
        yield quantity.note(f": {error}")
        return
    if amount < 0:
        yield quantity.wrong("is negative")


def _value(quantity: Spot) -> Fraction | None:
    if not isinstance(quantity.value, (str, int, float)) or isinstance(quantity.value, bool):
        return None
    try:
        return parse_quantity(quantity.value)
    except QuantityError:
        return None
