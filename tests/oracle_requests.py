"""What pods ask for and what a node has left, for the slow and obvious scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil

from mooring.model.objects import Container, Node, Pod, PodSpec
from mooring.model.quantity import parse_quantity

MIB = 2**20

Amounts = dict[str, int]  # cpu in thousandths, everything else in units


class Home:
    """A node with the pods on it."""

    def __init__(self, node: Node, pods: Iterable[Pod] = ()) -> None:
        self.node = node
        self.pods = list(pods)
        self.has = {name: amount_of(name, q) for name, q in node.status.allocatable.items()}

    def used(self, name: str) -> int:
        return sum(known_request(pod.spec, False).get(name, 0) for pod in self.pods)

    def used_supposedly(self, name: str) -> int:
        return sum(known_request(pod.spec, True).get(name, 0) for pod in self.pods)


def request_of(spec: PodSpec, *, suppose: bool = False) -> Amounts:
    """Per resource: what runs all the time, or the peak while init containers run. Then overhead.

    With `suppose`, a container that does not name cpu or memory counts as asking for 100m and 200Mi.
    """
    running: dict[str, Fraction] = {}
    beside: dict[str, Fraction] = {}  # sidecars started so far
    peak: dict[str, Fraction] = {}
    for container in spec.containers:
        _add(running, _asks(container, suppose))
    for container in spec.init_containers:
        asks = _asks(container, suppose)
        if container.restart_policy == "Always":
            _add(running, asks)
            _add(beside, asks)
            continue
        _add(asks, beside)
        peak = {name: max(peak.get(name, Fraction(0)), asks.get(name, Fraction(0))) for name in peak | asks}
    total = {
        name: max(running.get(name, Fraction(0)), peak.get(name, Fraction(0))) for name in running | peak
    }
    _add(total, {name: parse_quantity(q) for name, q in spec.overhead.items()})
    return {name: ceil(amount * (1000 if name == "cpu" else 1)) for name, amount in total.items()}


_known: dict[tuple[int, bool], tuple[PodSpec, Amounts]] = {}


def known_request(spec: PodSpec, suppose: bool) -> Amounts:
    """`request_of`, worked out once per spec object: the one thing here that is not done afresh."""
    key = (id(spec), suppose)
    if key not in _known:
        if len(_known) > 10_000:
            _known.clear()
        _known[key] = (spec, request_of(spec, suppose=suppose))  # the spec is held so that its id stays
    return _known[key][1]


def _asks(container: Container, suppose: bool) -> dict[str, Fraction]:
    defaults = {"cpu": Fraction(1, 10), "memory": Fraction(200 * MIB)} if suppose else {}
    return defaults | {name: parse_quantity(q) for name, q in container.resources.requests.items()}


def _add(into: dict[str, Fraction], amounts: Mapping[str, Fraction]) -> None:
    for name, amount in amounts.items():
        into[name] = into.get(name, Fraction(0)) + amount


def amount_of(name: str, quantity: object) -> int:
    exact = parse_quantity(quantity)  # type: ignore[arg-type]
    return ceil(exact * 1000) if name == "cpu" else ceil(exact)
