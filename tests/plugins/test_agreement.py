"""On any cluster: both forms of every plugin agree, and pods of equal signature get equal answers."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

from mooring.cluster.columns import NodeColumns, StaticColumns
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status
from mooring.model.objects import (
    Affinity,
    ContainerImage,
    LabelSelectorRequirement,
    Node,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from mooring.model.objects import (
    NodeAffinity as WireAffinity,
)
from mooring.model.selectors import SelectorError, required_node_affinity_matches
from mooring.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from mooring.plugins.image_locality import ImageLocality
from mooring.plugins.node_affinity import NodeAffinity
from mooring.plugins.node_name import NodeName
from mooring.plugins.node_ports import NodePorts
from mooring.plugins.node_resources_fit import NodeResourcesFit
from mooring.plugins.node_unschedulable import NodeUnschedulable
from mooring.plugins.taint_toleration import TaintToleration
from plugins.stage import Stage, container, node, pod, ports

GPU = "nvidia.com/gpu"
FIELDS = ("containers", "tolerations", "node_selector", "node_name", "affinity")
NAMES = ("n0", "n1", "n2", "n3", "n4")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
RESOURCES = [{"name": name, "weight": weight} for name, weight in (("cpu", 1), ("memory", 3), (GPU, 2))]
EVEN = [{"name": name} for name in ("cpu", "memory", GPU, "ephemeral-storage")]
RISING = {
    "shape": [
        {"utilization": 10, "score": 2},
        {"utilization": 60, "score": 9},
        {"utilization": 90, "score": 0},
    ]
}

CASES: dict[str, tuple[type[Plugin], dict[str, Any]]] = {
    "node-name": (NodeName, {}),
    "node-unschedulable": (NodeUnschedulable, {}),
    "taint-toleration": (TaintToleration, {}),
    "node-affinity": (NodeAffinity, {}),
    "node-affinity-added": (
        NodeAffinity,
        {
            "addedAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {"matchExpressions": [{"key": "rank", "operator": "Exists"}]}}
                ],
            }
        },
    ),
    "node-ports": (NodePorts, {}),
    "image-locality": (ImageLocality, {}),
    "fit-least": (NodeResourcesFit, {}),
    "fit-least-weighed": (NodeResourcesFit, {"scoringStrategy": {"resources": RESOURCES}}),
    "fit-most": (NodeResourcesFit, {"scoringStrategy": {"type": "MostAllocated", "resources": RESOURCES}}),
    "fit-ratio": (
        NodeResourcesFit,
        {
            "ignoredResources": [GPU],
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "resources": RESOURCES,
                "requestedToCapacityRatio": RISING,
            },
        },
    ),
    "balanced": (NodeResourcesBalancedAllocation, {}),
    "balanced-three": (NodeResourcesBalancedAllocation, {"resources": EVEN[:3]}),
    "balanced-four": (NodeResourcesBalancedAllocation, {"resources": EVEN}),
}

amount = st.one_of(st.integers(0, 8), st.integers(0, 2**58))
resources = st.fixed_dictionaries({}, optional=dict.fromkeys(("memory", "ephemeral-storage", GPU), amount))
cpu = st.integers(0, 9).map(lambda cores: {"cpu": f"{cores * 500}m"})
value = st.sampled_from(("a", "b", "3", "12"))
images = st.lists(
    st.builds(
        ContainerImage,
        names=st.sampled_from(("x:latest", "y:1", "z:latest")).map(lambda name: (name,)),
        size_bytes=st.integers(0, 2**32),
    ),
    max_size=3,
    unique_by=lambda image: image.names,
)
taints = st.builds(Taint, key=st.sampled_from("kl"), value=value, effect=st.sampled_from(EFFECTS))
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(("", "k", "l", "node.kubernetes.io/unschedulable")),
    operator=st.sampled_from(("", "Equal", "Exists", "Gt")),
    value=value,
    effect=st.sampled_from(("", *EFFECTS)),
)
expressions = st.builds(
    LabelSelectorRequirement,
    key=st.sampled_from(("zone", "rank", "other")),
    operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near")),
    values=st.sampled_from(((), ("a",), ("a", "b"), ("5",))),
)
fields = st.builds(
    LabelSelectorRequirement,
    key=st.just("metadata.name"),
    operator=st.sampled_from(("In", "In", "NotIn")),
    values=st.sampled_from((("n0",), ("n1",), ("n1",), ("n1", "n2"))),
)
terms = st.builds(
    NodeSelectorTerm,
    match_expressions=st.lists(expressions, max_size=2).map(tuple),
    match_fields=st.lists(fields, max_size=2).map(tuple),
)
pin = LabelSelectorRequirement(key="metadata.name", operator="In", values=("n1",))
pinned_terms = terms.map(lambda term: msgspec.structs.replace(term, match_fields=(pin,)))  # a DaemonSet's
preferred = st.builds(
    PreferredSchedulingTerm,
    weight=st.integers(0, 100),
    preference=terms.filter(lambda term: not unreadable(term)),
)
affinities = st.builds(
    WireAffinity,
    required_during_scheduling_ignored_during_execution=st.none()
    | (st.lists(pinned_terms, max_size=2) | st.lists(st.none() | terms, max_size=3)).map(
        lambda found: NodeSelector(node_selector_terms=tuple(found))
    ),
    preferred_during_scheduling_ignored_during_execution=st.lists(preferred, max_size=2).map(tuple),
)
containers = st.builds(
    lambda cpu, more, image, port: container(cpu | more, image=image, ports=ports(*port)),
    st.just({}) | cpu,
    resources,
    st.sampled_from(("", "x", "y:1", "z")),
    st.lists(st.sampled_from(("TCP/:80", "UDP/10.0.0.1:80", "TCP/10.0.0.1:80")), max_size=1),
)
pods = st.builds(
    lambda **spec: pod(**spec),
    containers=st.lists(containers, max_size=2).map(tuple),
    tolerations=st.lists(tolerations, max_size=2).map(tuple),
    node_selector=st.sampled_from(({}, {}, {"zone": "a"}, {"rank": "3", "zone": "b"})),
    node_name=st.sampled_from(("", "", "n1", "gone")),
    affinity=st.none() | affinities.map(lambda found: Affinity(node_affinity=found)),
)


def unreadable(term: NodeSelectorTerm) -> bool:
    try:
        required_node_affinity_matches(requiring(term).spec, "n", {})
    except SelectorError:
        return True
    return False


def requiring(term: NodeSelectorTerm) -> Pod:
    found = WireAffinity(
        required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=(term,))
    )
    return pod(affinity=Affinity(node_affinity=found))


def nodes(name: str) -> st.SearchStrategy[Node]:
    return st.builds(
        lambda cpu, more, **spec: node(name, cpu | more, **spec),
        st.just({}) | cpu,
        resources,
        labels=st.dictionaries(st.sampled_from(("zone", "rank")), value),
        images=images,
        taints=st.lists(taints, max_size=2).map(tuple),
        unschedulable=st.booleans(),
    )


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    """Some nodes, pods on them, and a row or two whose node went."""
    stage = Stage([draw(nodes(name)) for name in NAMES])
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2)):
        stage.drop(name)
    for name in [view.name for view in stage.view.nodes]:
        for placed in draw(st.lists(pods, max_size=2)):
            stage.take(placed, name)
    return stage


def answers(stage: Stage, plugin: Any, incoming: Pod) -> list[Any]:
    """All a plugin says about a pod; Stage checks that both forms say the same."""
    found: list[Any] = []
    if hasattr(plugin, "filter"):
        found.append(stage.filtered(plugin, incoming))
    if hasattr(plugin, "score"):
        found.append(stage.scored(plugin, incoming))
    return found


@settings(max_examples=100, deadline=None)
@given(stage=stages(), incoming=pods)
def test_both_forms_agree(stage: Stage, incoming: Pod) -> None:
    for case, (kind, args) in CASES.items():
        note(case)
        plugin: Any = stage.make(kind, **args)
        found = answers(stage, plugin, incoming)
        if hasattr(plugin, "score") and not hasattr(plugin, "normalize"):
            assert all(0 <= score <= 100 for score in found[-1].values())
        check_some_rows(stage, plugin, incoming)


def check_some_rows(stage: Stage, plugin: Any, incoming: Pod) -> None:
    """Columns over some rows get the same answers as columns over all."""
    some = np.array([3, 1], np.intp)
    columns = StaticColumns if plugin.scope is Scope.STATIC else NodeColumns
    for ask in (getattr(plugin, method, None) for method in ("filter_nodes", "score_nodes")):
        if ask is not None:
            whole = ask(Cycle("test", 0.0), incoming, columns(stage.cluster.nodes, stage.view.view))
            part = ask(Cycle("test", 0.0), incoming, columns(stage.cluster.nodes, stage.view.view, some))
            assert part.tolist() == whole[some].tolist()


@settings(max_examples=100, deadline=None)
@given(stage=stages(), one=pods, other=pods, changed=st.sets(st.sampled_from(FIELDS), max_size=2))
def test_equal_signatures_mean_equal_answers(stage: Stage, one: Pod, other: Pod, changed: set[str]) -> None:
    spec = msgspec.structs.replace(one.spec, **{field: getattr(other.spec, field) for field in changed})
    other = msgspec.structs.replace(one, spec=spec)
    for case, (kind, args) in CASES.items():
        note(case)
        plugin: Any = stage.make(kind, **args)
        if plugin.sign(one) == plugin.sign(other):
            assert answers(stage, plugin, one) == answers(stage, plugin, other)
        if plugin.sign(one) is None and hasattr(plugin, "filter"):
            assert set(stage.filtered(plugin, one).values()) <= {None}


@settings(max_examples=150, deadline=None)
@given(stage=stages(), incoming=pods)
def test_narrowing_and_filter_are_the_required_affinity(stage: Stage, incoming: Pod) -> None:
    plugin: Any = stage.make(NodeAffinity)
    narrowed = plugin.pre_filter(Cycle("test", 0.0), incoming)
    found = stage.filtered(plugin, incoming)
    for view in stage.view.nodes:
        passes = found[view.name] is None
        if isinstance(narrowed, Status):
            passes = narrowed.code.name == "SKIP"
        elif narrowed is not None:
            passes = passes and view.name in narrowed
        assert passes == required(incoming, view.name, view.labels)


def required(incoming: Pod, name: str, labels: dict[str, str]) -> bool:
    try:
        return required_node_affinity_matches(incoming.spec, name, labels)
    except SelectorError:
        return False
