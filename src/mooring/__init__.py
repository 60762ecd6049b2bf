"""Mooring: the Kubernetes scheduler you program in Python.

These are the names a policy needs, whatever kind of plugin it is; its tests import `mooring.testing` as well.
A `Node` is a node with the pods on it, as plugins see it; a `NodeObject` is the API server's, as hints do.
"""

from mooring import arrays  # noqa: F401 - before anyone else imports NumPy
from mooring.cluster.books.book import Book
from mooring.cluster.columns import NodeColumns
from mooring.cluster.view import NodeView as Node
from mooring.cluster.view import StaticNode
from mooring.framework.api.answers import Mask, PostFilterResult
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin, DomainState, FollowingState
from mooring.framework.api.endpoints import Endpoint, EndpointRequest
from mooring.framework.api.events import Action, Hint, Interest
from mooring.framework.api.grouping import Group, GroupTrial, GroupWayOut, Plan, Room
from mooring.framework.api.handle import Api, Handle, Lister, WaitingPod
from mooring.framework.api.normalize import maximum, minimum_maximum, reversed_maximum
from mooring.framework.api.plugin import (
    Plugin,
    PluginArgs,
    concerns_only,
    moves_with_nodes,
    nothing_to_do,
    reads_spec_only,
)
from mooring.framework.api.scope import UNSIGNABLE, Scope
from mooring.framework.api.session import Job, Session, Task
from mooring.framework.api.status import Code, Status, error, pending, skip, unresolvable, unschedulable, wait
from mooring.framework.api.writes import Write
from mooring.model.objects import Node as NodeObject
from mooring.model.objects import Object, Pod

__all__ = [
    "UNSIGNABLE",
    "Action",
    "Api",
    "Book",
    "Code",
    "Cycle",
    "DomainPlugin",
    "DomainState",
    "Endpoint",
    "EndpointRequest",
    "FollowingState",
    "Group",
    "GroupTrial",
    "GroupWayOut",
    "Handle",
    "Hint",
    "Interest",
    "Job",
    "Lister",
    "Mask",
    "Node",
    "NodeColumns",
    "NodeObject",
    "Object",
    "Plan",
    "Plugin",
    "PluginArgs",
    "Pod",
    "PostFilterResult",
    "Room",
    "Scope",
    "Session",
    "StaticNode",
    "Status",
    "Task",
    "WaitingPod",
    "Write",
    "concerns_only",
    "error",
    "maximum",
    "minimum_maximum",
    "moves_with_nodes",
    "nothing_to_do",
    "pending",
    "reads_spec_only",
    "reversed_maximum",
    "skip",
    "unresolvable",
    "unschedulable",
    "wait",
]
