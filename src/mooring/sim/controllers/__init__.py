"""The workload controllers of the embedded cluster: they make the pods and replace the ones that go."""

from mooring.sim.controllers.controllers import Controllers

__all__ = ["Controllers"]
