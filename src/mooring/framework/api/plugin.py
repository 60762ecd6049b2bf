"""The one base class of every plugin, built in or yours.

A plugin implements the points it needs, by name (`points.POINTS`), and nothing else. The framework
finds them by looking; a method that is not there costs nothing. `typed_points` has their types.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from mooring.framework.api.endpoints import Endpoint
from mooring.framework.api.scope import Scope

if TYPE_CHECKING:
    from mooring.framework.api.handle import Handle
    from mooring.framework.api.typed_points import Points
    from mooring.model.objects import Pod
else:
    Points = object

Method = TypeVar("Method", bound=Callable[..., Any])


class PluginArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Arguments a configuration may give a plugin. Raise ValueError in `__post_init__` to refuse.

    `no_effect` are fields, as a file has them, that change nothing, and why: whoever gives one is told.
    """

    no_effect: ClassVar[Mapping[str, str]] = {}


class Default:
    """The signature of a plugin that does not say what it reads of a pod: all but its identity."""

    def __repr__(self) -> str:
        return "WHOLE_POD"


WHOLE_POD = Default()


class Plugin(Points):
    """Base of all plugins.

    name     the plugin's name in configurations and messages; the class name when not given
    scope    what its answers about a node depend on (default: anything, so nothing is kept)
    Args     its arguments, when it takes any
    reads    kinds it asks listers for: `Service`, or `group/version/plural` of what is not Kubernetes' own
    version  moves when answers change for a reason outside node and pod: kept answers are then stale
    amounts_only
             that it reads nothing of a node but what it has and what is taken of it: resources, pods, and how
             many pods it takes; nodes that are alike in that may then be judged once
    """

    name: ClassVar[str] = ""
    scope: ClassVar[Scope] = Scope.CLUSTER
    Args: ClassVar[type[PluginArgs]] = PluginArgs
    reads: ClassVar[tuple[str, ...]] = ()
    amounts_only: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    @property
    def version(self) -> Hashable:
        return 0

    def sign(self, pod: Pod) -> Hashable:
        """What this plugin reads of a pod: pods of equal signature get equal answers.

        None means the plugin has nothing to say about the pod: it is not asked to pre-filter, filter,
        score, reserve or permit it.
        UNSIGNABLE means no other pod is like this one.
        """
        return WHOLE_POD

    def judges(self, sign: Hashable) -> bool:
        """Whether it filters or scores pods of a signature. A plugin that only sometimes does says so here:
        pods that it has nothing to say about nodes for are then placed as fast as without it."""
        return True

    def pre_filters(self, sign: Hashable) -> bool:
        """Whether its `pre_filter` has anything to say about pods of a signature: it is not run for others.
        Asked of plugins that keep their answers."""
        return True

    def endpoints(self) -> Mapping[str, Endpoint]:
        """What the plugin shows of itself over HTTP, by path; see `mooring.framework.api.endpoints`."""
        return {}


def nothing_to_do(method: Method) -> Method:
    """Marks a point that a configuration may name and at which the plugin does nothing: it is not run."""
    setattr(method, "nothing_to_do", True)  # noqa: B010 - functions take attributes, types do not say so
    return method


def concerns_only(table: str) -> Callable[[Method], Method]:
    """Marks a `pre_enqueue`, `order_of` or `pod_bound` that has nothing to say about pods whose uid is not in
    a table of the plugin: it is not run for those. `table` names the attribute: one object for good."""

    def mark(method: Method) -> Method:
        setattr(method, "concerns_only", table)  # noqa: B010 - as above
        return method

    return mark


def moves_with_nodes(method: Method) -> Method:
    """Marks a `version` that moves only when a node object comes, changes or goes; only asked for then."""
    setattr(method, "moves_with_nodes", True)  # noqa: B010 - as above
    return method


def reads_spec_only(method: Method) -> Method:
    """Marks a `sign` that reads nothing but `pod.spec`: it is then asked once per distinct spec."""
    setattr(method, "reads_spec_only", True)  # noqa: B010 - as above
    return method
