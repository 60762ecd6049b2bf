"""The search for a node: the pod, its class, and the nodes it is narrowed down to."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.engine.placement.classes import PodClass
from mooring.framework.api.cycle import Cycle
from mooring.model.objects import Pod

NOT_YET: Any = None


class Narrowed(msgspec.Struct, frozen=True):
    """The only nodes a pod may go to, and the plugins that say so."""

    names: frozenset[str]
    plugins: tuple[str, ...]


class Search(msgspec.Struct, eq=False):
    """Everything nodes are judged by."""

    cycle: Cycle
    pod: Pod  # as transformers and resizing make it
    pod_class: PodClass = NOT_YET  # known before any node is asked
    narrowed: Narrowed | None = None
