"""How the API server words a refusal."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.errors import Forbidden
from mooring.model.amounts import Amounts
from mooring.model.quantity import NANOS_PER_UNIT

_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_DECIMAL = (("E", 27), ("P", 24), ("T", 21), ("G", 18), ("M", 15), ("k", 12), ("", 9), ("m", 6), ("u", 3))


def forbidden(name: str, what: str) -> Forbidden:
    return Forbidden(403, f'pods "{name}" is forbidden: {what}', "Forbidden")


def together(problems: list[str]) -> str:
    """Several problems as one, the way the API server puts them together."""
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


def shown(nanos: int, *, binary: bool) -> str:
    """An amount the way a quantity writes itself: `1500m`, `2`, `1536Mi`, `1k`."""
    if nanos == 0:
        return "0"
    if binary and nanos % NANOS_PER_UNIT == 0:
        units = nanos // NANOS_PER_UNIT
        for power, suffix in zip((60, 50, 40, 30, 20, 10), _BINARY, strict=True):
            if units % 2**power == 0:
                return f"{units >> power}{suffix}"
        return str(units)
    for suffix, power in _DECIMAL:
        if nanos % 10**power == 0:
            return f"{nanos // 10**power}{suffix}"
    return f"{nanos}n"


def is_binary(quantity: object) -> bool:
    return isinstance(quantity, str) and quantity.endswith("i")


def listed(amounts: Amounts, names: Iterable[str], binary: frozenset[str]) -> str:
    """`cpu=1,memory=1Gi`, by name."""
    return ",".join(f"{name}={shown(amounts.get(name, 0), binary=name in binary)}" for name in sorted(names))
