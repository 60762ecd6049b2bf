"""Amounts of resources by name, in nano-units: added and compared exactly, rounded up at the end.

What comes out is at most `LARGEST`: a few of these together are still within 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from mooring.errors import QuantityError
from mooring.model.names import is_scalar_resource
from mooring.model.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT, Quantity, nanos, round_up

Amounts = dict[str, int]
LARGEST = 2**61  # who asks for more asks for this, which no node has


def read_amounts(resources: Mapping[str, Quantity], owner: str) -> Amounts:
    """Quantities as amounts; one that is nonsense or negative is told with its name and its owner."""
    try:
        amounts = {name: nanos(quantity) for name, quantity in resources.items()}
    except QuantityError:
        raise _first_mistake(resources, owner) from None
    if amounts and min(amounts.values()) < 0:
        raise _first_mistake(resources, owner)
    return amounts


def milli_of(amounts: Amounts, name: str) -> int:
    return min(round_up(amounts.get(name, 0), NANOS_PER_MILLI), LARGEST)


def whole_of(amounts: Amounts, name: str) -> int:
    return min(round_up(amounts.get(name, 0), NANOS_PER_UNIT), LARGEST)


def scalars_of(amounts: Amounts) -> tuple[tuple[str, int], ...]:
    """By name, those the scheduler counts and of which there are any."""
    names = (name for name, amount in amounts.items() if amount and is_scalar_resource(name))
    return tuple((name, whole_of(amounts, name)) for name in sorted(names))


def add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def added(first: Amounts, second: Amounts) -> Amounts:
    total = dict(first)
    add(total, second)
    return total


def raise_to(highest: Amounts, amounts: Amounts) -> None:
    """Lift each amount to at least the other one."""
    for name, amount in amounts.items():
        highest[name] = max(highest.get(name, 0), amount)


def _first_mistake(resources: Mapping[str, Quantity], owner: str) -> QuantityError:
    for name, quantity in resources.items():
        try:
            if nanos(quantity) < 0:
                return QuantityError(f'{owner}: {name}: "{quantity}" is negative')
        except QuantityError as error:
            return QuantityError(f"{owner}: {name}: {error}")
    raise AssertionError("no mistake to tell")
