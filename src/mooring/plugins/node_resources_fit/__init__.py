"""NodeResourcesFit: a pod goes only where what it asks for is free, and where it fits best."""

from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit

__all__ = ["NodeResourcesFit"]
