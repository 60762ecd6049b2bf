"""The conformance check: a policy keeps the promises its scope, its signature and its points make.

check     from the policy to the smallest case in which it breaks a promise
"""

from mooring.testing.conformance.check import check_conformance
from mooring.testing.conformance.findings import ConformanceError

__all__ = ["ConformanceError", "check_conformance"]
