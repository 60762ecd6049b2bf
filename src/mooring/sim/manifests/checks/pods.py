"""Mistakes in a pod's spec, whether of a Pod or of a workload's template."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.errors import Mistake
from mooring.sim.manifests.checks import quantities, selectors
from mooring.sim.manifests.checks.storage import claim_template
from mooring.sim.manifests.located_value import Spot

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
POD_AFFINITIES = ("podAffinity", "podAntiAffinity")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_spec(spec: Spot) -> Iterator[Mistake]:
    yield from _containers(spec)
    yield from quantities.requirements(spec.child("resources"))
    yield from quantities.resource_list(spec.child("overhead"))
    yield from _node_affinity(spec.child("affinity", "nodeAffinity"))
    for kind in POD_AFFINITIES:
        yield from _pod_affinity(spec.child("affinity", kind))
    for toleration in spec.child("tolerations").items():
        yield from _toleration(toleration)
    for constraint in spec.child("topologySpreadConstraints").items():
        yield from _spread(constraint)
    for volume in spec.child("volumes").items():
        yield from claim_template(volume.child("ephemeral", "volumeClaimTemplate"))
    yield from selectors.one_of(spec.child("preemptionPolicy"), ("PreemptLowerPriority", "Never"))
    yield from not_negative(spec.child("terminationGracePeriodSeconds"))


def taint(spot: Spot) -> Iterator[Mistake]:
    if not spot.child("key").value:
        yield spot.child("key").missing()
    if not spot.child("effect").value:
        yield spot.child("effect").missing()
    yield from selectors.one_of(spot.child("effect"), EFFECTS, or_empty=True)


def not_negative(number: Spot) -> Iterator[Mistake]:
    if isinstance(number.value, int) and number.value < 0:
        yield number.wrong("is negative")


def _containers(spec: Spot) -> Iterator[Mistake]:
    for container in spec.child("containers").items() + spec.child("initContainers").items():
        yield from quantities.requirements(container.child("resources"))
        for port in container.child("ports").items():
            yield from selectors.one_of(port.child("protocol"), ("TCP", "UDP", "SCTP"), or_empty=True)
            yield from _port(port.child("hostPort"))
            yield from _port(port.child("containerPort"))


def _port(number: Spot) -> Iterator[Mistake]:
    if isinstance(number.value, int) and not 0 <= number.value <= 65535:
        yield number.wrong("is not a port: 1 to 65535")


def _node_affinity(affinity: Spot) -> Iterator[Mistake]:
    for term in affinity.child(REQUIRED, "nodeSelectorTerms").items():
        yield from selectors.node_term(term)
    for preferred in affinity.child(PREFERRED).items():
        yield from _weight(preferred.child("weight"))
        yield from selectors.node_term(preferred.child("preference"))


def _pod_affinity(affinity: Spot) -> Iterator[Mistake]:
    for term in affinity.child(REQUIRED).items():
        yield from _pod_term(term)
    for preferred in affinity.child(PREFERRED).items():
        yield from _weight(preferred.child("weight"))
        yield from _pod_term(preferred.child("podAffinityTerm"))


def _pod_term(term: Spot) -> Iterator[Mistake]:
    yield from selectors.label_selector(term.child("labelSelector"))
    yield from selectors.label_selector(term.child("namespaceSelector"))
    if isinstance(term.value, dict) and not term.child("topologyKey").value:
        yield term.child("topologyKey").missing()


def _weight(weight: Spot) -> Iterator[Mistake]:
    if isinstance(weight.value, int) and not 1 <= weight.value <= 100:
        yield weight.wrong("is not between 1 and 100")


def _toleration(toleration: Spot) -> Iterator[Mistake]:
    operator = toleration.child("operator")
    yield from selectors.one_of(operator, ("Equal", "Exists", "Lt", "Gt"), or_empty=True)
    yield from selectors.one_of(toleration.child("effect"), EFFECTS, or_empty=True)
    if operator.value == "Exists" and toleration.child("value").value:
        yield toleration.child("value").wrong("is not empty: operator Exists takes no value")
    if operator.value != "Exists" and not toleration.child("key").value:
        yield toleration.note(" has no key: only operator Exists may leave it out.")


def _spread(constraint: Spot) -> Iterator[Mistake]:
    yield from selectors.label_selector(constraint.child("labelSelector"))
    yield from selectors.one_of(constraint.child("whenUnsatisfiable"), ("DoNotSchedule", "ScheduleAnyway"))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from selectors.one_of(constraint.child(policy), ("Honor", "Ignore"))
    skew = constraint.child("maxSkew")
    if isinstance(skew.value, int) and skew.value < 1:
        yield skew.wrong("is not above 0")
