"""ImageLocality: prefers nodes that hold the pod's images already, larger ones counting more.

An image counts in proportion to the nodes that have it: what one node alone holds must not draw every
pod to it. So one node's answer moves with what other nodes hold, and `version` says so.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import StaticColumns
from mooring.cluster.images import Image, Images
from mooring.cluster.view import StaticNode
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Handle
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.api.plugin import Plugin, PluginArgs, moves_with_nodes, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.model.objects import Pod, PodSpec
from mooring.plugins.kept import PerSpec

MIB = 2**20
LEAST = 23 * MIB  # less than this to download is not worth a preference
MOST_EACH = 1000 * MIB  # per container; beyond this more makes no difference

Wanted = tuple[int, tuple[str, ...]]  # number of containers, names of images


class ImageLocality(Plugin):
    name = "ImageLocality"
    scope = Scope.STATIC

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._wanted = PerSpec(wanted_images)

    @property
    @moves_with_nodes
    def version(self) -> Hashable:
        return self.handle.images.version

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        containers, images = self._wanted.of(pod.spec)
        return (containers, images) if containers else None

    def score(self, cycle: Cycle, pod: Pod, node: StaticNode) -> int:
        containers, names = self._wanted.of(pod.spec)
        images, row = self.handle.images, node.row
        low, high, size = LEAST, MOST_EACH * containers, 0
        for name in names:
            image = images.find(name)
            if image is not None and row in image.rows:
                size += _counts_for(image, images)
        return MAX_SCORE * (max(low, min(size, high)) - low) // (high - low) if containers else 0

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Ints:
        containers, names = self._wanted.of(pod.spec)
        low, high, sizes = LEAST, MOST_EACH * containers, np.zeros(len(nodes), np.int64)
        for name in names:
            image = nodes.images.find(name)
            if image is not None:
                # More than the most makes no difference, and many of it stay within 64 bits.
                sizes += min(_counts_for(image, nodes.images), high) * nodes.mask_of(image.rows)
        if not containers:
            return np.zeros(len(nodes), np.int64)
        return np.asarray(MAX_SCORE * (np.clip(sizes, low, high) - low) // (high - low))


def wanted_images(spec: PodSpec) -> Wanted:
    """Images of all containers and image volumes; volumes do not raise the number of containers."""
    containers = (*spec.init_containers, *spec.containers)
    volumes = (volume["image"].get("reference", "") for volume in spec.volumes if volume.get("image"))
    names = (*(container.image for container in containers), *volumes)
    return len(containers), tuple(sorted(map(with_tag, names)))


def with_tag(image: str) -> str:
    """An image's name the way nodes report it: `latest` when it names neither tag nor digest."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _counts_for(image: Image, images: Images) -> int:
    return int(image.size_bytes * (len(image.rows) / images.nodes))
