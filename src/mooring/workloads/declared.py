"""What pods and pod groups say: which gang a pod belongs to, and what is asked of the gang."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

import msgspec

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads.topology_wishes import Wish

NO_MINIMUM = "{}: nothing says how many pods it needs"
NOT_THERE = NO_MINIMUM + "; there is no {} of that name{}"
IN_PODS = ", and no pod has the annotation gang.scheduling.koordinator.sh/min-available"


class MatchPolicy(Enum):
    """Which members count when a gang is to start."""

    ONCE_SATISFIED = "once-satisfied"  # those that hold a place; once it has started, nobody is held up again
    ONLY_WAITING = "only-waiting"  # those that hold a place and are not bound
    WAITING_AND_RUNNING = "waiting-and-running"  # those that hold a place, and those that are bound


class Part(msgspec.Struct, frozen=True):
    """Members of one role: a sub-group of KAI, a task of Volcano. Each part has a minimum of its own."""

    name: str
    least: int


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a gang, whoever says it."""

    least: int  # members that must have places for any of them to start
    total: int = 0
    strict: bool = True
    policy: MatchPolicy | None = None  # None: the plugin's default
    wait_s: float = 0.0  # 0: the plugin's default
    groups: tuple[str, ...] = ()  # ids of the gangs it starts together with, itself among them; () = alone
    parts: tuple[Part, ...] = ()
    only_parts: bool = False  # whether a member has to belong to one of the parts
    whole: bool = False  # its pods are evicted together or not at all
    topology_spec: str = ""  # JSON, as it is written
    created: str | None = None
    mistakes: tuple[str, ...] = ()


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's word that it belongs to a gang."""

    dialect: str
    key: str  # of the gang, among all gangs
    id: str  # of the gang, as people write it: namespace/name
    source: str = ""  # key of the object that has the gang's terms; "" when the pod itself has them
    entry: str = ""  # the part of that object that is about the gang, where it is about several
    said: str = ""  # what says so: `label pod-group.scheduling.sigs.k8s.io "train"`
    part: str = ""
    terms: Terms | None = None  # the pod's own, where pods carry them
    mistakes: tuple[str, ...] = ()


class Dialect(ABC):
    """One way to declare gangs. Knows how pods do it, and reads the objects that go with it.

    kinds    `Kind.group` of the objects it reads, the one that has the terms first
    reads    the same as `group/version/plural`
    prefix   keeps gangs of the same id apart that are declared in different ways
    one_each whether each object of the first kind is one gang
    wait_s   how long members wait for each other when nobody says; 0: the plugin's default
    modes    whether a strict gang does not start as soon as one of its members finds no place
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    reads: ClassVar[tuple[str, ...]]
    prefix: ClassVar[str]
    one_each: ClassVar[bool] = True
    wait_s: ClassVar[float] = 0.0
    modes: ClassVar[bool] = False

    @abstractmethod
    def declared(self, pod: Pod) -> Declared | None:
        """The pod's declaration in this dialect."""

    @abstractmethod
    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        """What an object says of a gang; None when nothing. Listers are those of the dialect's kinds."""

    def wish(self, found: Object) -> Wish | None:
        """What an object wishes of the network for its gang. Raises ManifestError."""
        return None

    def not_there(self, gang_id: str, pod: Pod) -> str:
        """Said of a pod whose gang nobody has described yet."""
        kind = self.kinds[0].partition(".")[0]
        return NOT_THERE.format(f"gang {gang_id}", kind, IN_PODS if self.modes else "")

    def too_few(self, message: str) -> str:
        """Said of a gang that is not complete; `message` is ours."""
        return message
