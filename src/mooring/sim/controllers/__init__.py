"""The controllers of the embedded cluster: they make the pods and replace the ones that go.

Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs are played one by one, all other kinds by
the table of owner kinds in `workloads`. Claims are bound to volumes, and volumes made for them.
"""

from mooring.sim.controllers.controllers import Controllers

__all__ = ["Controllers"]
