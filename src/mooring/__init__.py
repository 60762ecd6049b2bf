"""Mooring: the Kubernetes scheduler you program in Python.

These are the names a policy needs.
"""

from mooring import arrays  # noqa: F401 - before anyone else imports NumPy
from mooring.cluster.columns import NodeColumns
from mooring.cluster.view import NodeView as Node
from mooring.framework.api.answers import Mask, PostFilterResult
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.normalize import maximum, reversed_maximum
from mooring.framework.api.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.api.scope import UNSIGNABLE, Scope
from mooring.framework.api.session import Session
from mooring.framework.api.status import Status, error, pending, skip, unresolvable, unschedulable, wait
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
