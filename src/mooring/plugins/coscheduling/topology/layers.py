"""Layers of the network, coarsest first: what each is called, and by which labels nodes say where they are.

They come from the plugin's arguments, from the ClusterNetworkTopology named `default`, from a KAI Topology,
or are the one label a Kubernetes PodGroup names. The whole cluster lies above them, nodes below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mooring.errors import ArgsError, FieldMistake, ManifestError, did_you_mean
from mooring.model.plain import items, part, text

CLUSTER_LAYER = "ClusterTopologyLayer"
NODE_LAYER = "NodeTopologyLayer"

FIELDS = "topologyLayer", "parentTopologyLayer", "labelKey"

Field = tuple[str | int, ...]


def domain_word(layer: str) -> str:
    """What a domain of a layer is called in a sentence: `rack` for RackLayer or example.com/rack."""
    word = layer.rpartition("/")[2]
    for ending in ("TopologyLayer", "Layer"):
        if word.endswith(ending) and word != ending:
            word = word.removesuffix(ending)
            break
    return word.lower() if word.istitle() else word


class LayerEntry(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One layer as a ClusterNetworkTopology lists it. The first label key a node has a value of counts."""

    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: tuple[str, ...] = ()


class Layer(msgspec.Struct, frozen=True):
    name: str
    label_keys: tuple[str, ...]

    def value(self, labels: Mapping[str, str]) -> str:
        """The domain a node is in; "" when it does not say."""
        for key in self.label_keys:
            if value := labels.get(key):
                return value
        return ""


class Layout(msgspec.Struct, frozen=True):
    """Layers between the cluster and its nodes, coarsest first.

    With `stand_ins`, a node that lacks only the lowest of them is in a domain of its own there. `dotted`
    domains are called by all names from the top: `zone-1.rack-2`.
    """

    layers: tuple[Layer, ...]
    stand_ins: bool = True
    dotted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All layers, the cluster and the nodes included."""
        return (CLUSTER_LAYER, *(layer.name for layer in self.layers), NODE_LAYER)

    def depth(self, name: str, field: str = "") -> int:
        """How far below the cluster a layer is; ManifestError when there is no such layer."""
        if name not in self.names:
            what = f'there is no topology layer "{name}".{did_you_mean(name, self.names)}'
            raise ManifestError.at(field, what)
        return self.names.index(name)

    def path(self, node_name: str, labels: Mapping[str, str]) -> tuple[str, ...] | None:
        """The domains of a node, coarsest first. None when it lacks a layer, and so is in none."""
        found = [layer.value(labels) for layer in self.layers]
        if self.stand_ins and found and not found[-1]:
            found[-1] = node_name
        return tuple(found) if all(found) else None


class _Misfit(Exception):
    """A mistake in a list of entries: the field, and what."""

    def __init__(self, field: Field, what: str) -> None:
        self.field, self.what = field, what
        super().__init__(what)


# the plugin's arguments


def from_args(entries: Sequence[str | LayerEntry]) -> Layout:
    """Label keys or entries, coarsest first. Entries that name parents may come in any order; they have to
    list the node layer, as in a ClusterNetworkTopology. Raises ArgsError."""
    plain = [
        LayerEntry(topology_layer=entry, label_key=(entry,)) if isinstance(entry, str) else entry
        for entry in entries
    ]
    try:
        if any(entry.parent_topology_layer for entry in plain):
            return _by_parents(plain)
        return _layout([entry for entry in plain if entry.topology_layer != NODE_LAYER])
    except _Misfit as misfit:
        place = ("networkTopology", *misfit.field)
        raise ArgsError([FieldMistake(place, f"{_path(place)}: {misfit.what}")]) from None


# objects


def from_cluster_network_topology(data: dict[str, Any]) -> Layout:
    """The layers of a ClusterNetworkTopology. Raises ManifestError."""
    place = "spec.networkTopologySpec"
    listed = items(part(data, "spec"), "networkTopologySpec")
    try:
        known = [
            {key: part(each)[key] for key in FIELDS if part(each).get(key) is not None} for each in listed
        ]
        return _by_parents(msgspec.convert(known, tuple[LayerEntry, ...]))
    except msgspec.ValidationError as error:
        raise ManifestError.at(place, str(error)) from error
    except _Misfit as misfit:
        raise ManifestError.at(_path((place, *misfit.field)), misfit.what) from None


def from_kai(data: dict[str, Any]) -> Layout:
    """The levels of a KAI Topology: a node that lacks the label of any is in none. Raises ManifestError."""
    keys = [text(part(level), "nodeLabel") for level in items(part(data, "spec"), "levels")]
    try:
        if not keys:
            raise _Misfit((), "a topology needs at least one level")
        entries = [LayerEntry(topology_layer=key, label_key=(key,)) for key in keys]
        layers = _layout(entries, "nodeLabel").layers
    except _Misfit as misfit:
        raise ManifestError.at(_path(("spec.levels", *misfit.field)), misfit.what) from None
    return Layout(layers, stand_ins=False, dotted=True)


def from_label(key: str) -> Layout:
    """One layer: the values of a label. Nodes without it are in none."""
    return Layout((Layer(key, (key,)),), stand_ins=False)


# order


def _by_parents(entries: Sequence[LayerEntry]) -> Layout:
    """Walks up from the nodes. Every entry must lie on the way."""
    known = {entry.topology_layer: number for number, entry in enumerate(entries)}
    way: list[int] = []
    layer: str = NODE_LAYER
    named_at: Field = ()
    while layer not in ("", CLUSTER_LAYER):
        number = known.get(layer)
        if number is None:
            raise _Misfit(named_at, f'topology layer "{layer}" not found in spec')
        if number in way:
            raise _Misfit(named_at, f'topology layer "{layer}" lies above itself')
        way.append(number)
        layer, named_at = entries[number].parent_topology_layer, (number, "parentTopologyLayer")
    for number, entry in enumerate(entries):
        if number not in way and entry.topology_layer != CLUSTER_LAYER:
            what = f'topology layer "{entry.topology_layer}" is not above {NODE_LAYER}, or is listed twice'
            raise _Misfit((number, "topologyLayer"), what)
    above = [number for number in reversed(way) if entries[number].topology_layer != NODE_LAYER]
    return _layout([entries[number] for number in above], numbers=above)


def _layout(
    entries: Sequence[LayerEntry], name_field: str = "topologyLayer", numbers: Sequence[int] | None = None
) -> Layout:
    seen: set[str] = {CLUSTER_LAYER, NODE_LAYER}
    for number, entry in zip(numbers or range(len(entries)), entries, strict=True):
        if not entry.topology_layer:
            raise _Misfit((number, name_field), "a topology layer needs a name")
        if entry.topology_layer in seen:
            raise _Misfit((number, name_field), f'topology layer "{entry.topology_layer}" is listed twice')
        if not any(entry.label_key):
            raise _Misfit((number, "labelKey"), f'topology layer "{entry.topology_layer}" names no label')
        seen.add(entry.topology_layer)
    return Layout(tuple(Layer(e.topology_layer, tuple(filter(None, e.label_key))) for e in entries))


def _path(field: Field) -> str:
    """`spec.networkTopologySpec[1].labelKey`"""
    path = ""
    for step in field:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path
