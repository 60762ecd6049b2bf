"""DefaultPreemption: a pod that fits nowhere may have less important pods evicted."""

from mooring.plugins.preemption.plugin import DefaultPreemption

__all__ = ["DefaultPreemption"]
