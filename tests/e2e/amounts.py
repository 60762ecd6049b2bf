"""What pods ask for and nodes have, from the objects alone: exact, and apart from Mooring's arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from e2e.api import Object

SUFFIXES: dict[str, Fraction | int] = {
    "": 1,
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
}
SUFFIXES |= {letter: 1000**power for power, letter in enumerate("kMGTPE", start=1)}
SUFFIXES |= {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}

Amounts = Counter[str]  # of Fractions, by resource


def quantity(text: str) -> Fraction:
    """`1500m`, `2Gi`, `1e3`, `0.5`."""
    digits = text.rstrip("numkKMGTPEi")
    if digits.endswith(("e", "E")) or not digits:
        raise ValueError(f"no quantity: {text!r}")
    return Fraction(digits) * SUFFIXES[text[len(digits) :]]


def amounts(said: dict[str, str] | None) -> Amounts:
    return Counter({name: quantity(str(text)) for name, text in (said or {}).items()})


def total(over: Iterable[Amounts]) -> Amounts:
    result: Amounts = Counter()
    for each in over:
        result.update(each)
    return result


def asked_by(pod: Object) -> Amounts:
    """What placing this pod takes: its containers together or its greediest moment before, and one pod."""
    spec = pod["spec"]
    running = total(requests(one) for one in spec["containers"])
    peak: Amounts = Counter()
    beside: Amounts = Counter()  # sidecars started so far
    for one in spec.get("initContainers", ()):
        if one.get("restartPolicy") == "Always":
            beside.update(requests(one))
            peak |= beside
        else:
            peak |= total((beside, requests(one)))
    asked = total((running, beside)) | peak
    for name, value in requests(spec).items():  # resources of the pod as a whole win
        asked[name] = value
    return total((asked, amounts(spec.get("overhead")), Counter({"pods": Fraction(1)})))


def requests(holder: Object) -> Amounts:
    return amounts(holder.get("resources", {}).get("requests"))
