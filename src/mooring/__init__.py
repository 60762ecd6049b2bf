"""Mooring: the Kubernetes scheduler you program in Python.

These are the names a policy needs.
"""

from mooring import arrays  # noqa: F401 - before anyone else imports NumPy
from mooring.cluster.columns import NodeColumns
from mooring.cluster.view import NodeView as Node
from mooring.framework.answers import Mask, PostFilterResult
from mooring.framework.cycle import Cycle
from mooring.framework.events import Action, Hint, Interest
from mooring.framework.handle import Handle
from mooring.framework.normalize import maximum, reversed_maximum
from mooring.framework.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.scope import UNSIGNABLE, Scope
from mooring.framework.session import Session
from mooring.framework.status import Status, error, pending, skip, unresolvable, unschedulable, wait
from mooring.model.objects import Pod

__all__ = [
    "UNSIGNABLE",
    "Action",
    "Cycle",
    "Handle",
    "Hint",
    "Interest",
    "Mask",
    "Node",
    "NodeColumns",
    "Plugin",
    "PluginArgs",
    "Pod",
    "PostFilterResult",
    "Scope",
    "Session",
    "Status",
    "error",
    "maximum",
    "pending",
    "reads_spec_only",
    "reversed_maximum",
    "skip",
    "unresolvable",
    "unschedulable",
    "wait",
]
