"""Amounts, times and shares the way people read them."""

from __future__ import annotations

from html import escape

from mooring.sim.usage import Amounts

FIRST = ("cpu", "memory")
LAST = ("pods",)
NAMES = {"cpu": "CPU", "memory": "Memory", "pods": "Pods"}
BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def text(value: object) -> str:
    """Anything a user wrote, safe to put into a page."""
    return escape(str(value), quote=True)


def in_order(names: set[str]) -> list[str]:
    """Resources: cpu and memory, then extended ones by name, then pods."""
    middle = sorted(names - {*FIRST, *LAST})
    return [*(n for n in FIRST if n in names), *middle, *(n for n in LAST if n in names)]


def resource_name(name: str) -> str:
    return NAMES.get(name, name)


def amount(name: str, value: int) -> str:
    """`7600` of cpu is `7.6`; memory in the largest fitting unit; all else is a count."""
    if name == "cpu":
        return _short(value / 1000)
    if name == "memory" or name.startswith("hugepages-"):
        return _bytes(value)
    return f"{value:,}"


def share(used: int, capacity: int) -> float:
    """How full, from 0 to 1; more than 1 never happens to a sound cluster but is not hidden."""
    return used / capacity if capacity > 0 else 0.0


def percent(part: float) -> str:
    return f"{part * 100:.0f}%" if part == 0 or part >= 0.01 else f"{part * 100:.1f}%"


def duration(seconds: float) -> str:
    """`285` as `4m 45s`."""
    if seconds < 60:
        return f"{_short(seconds)}s"
    whole = round(seconds)
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s")]
    return " ".join(f"{count}{unit}" for count, unit in parts if count)


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def size(capacity: Amounts) -> str:
    """What a node has, in a few words."""
    words = [f"{amount('cpu', capacity.get('cpu', 0))} CPU", amount("memory", capacity.get("memory", 0))]
    extended = sorted(capacity.keys() - {*FIRST, *LAST})
    return ", ".join([*words, *(f"{amount(name, capacity[name])} {name}" for name in extended)])


def _short(number: float) -> str:
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def _bytes(value: int) -> str:
    scaled, unit = float(value), 0
    while abs(scaled) >= 1024 and unit < len(BYTES) - 1:
        scaled, unit = scaled / 1024, unit + 1
    return f"{scaled:,.1f}".rstrip("0").rstrip(".") + f" {BYTES[unit]}"
