"""NumPy is imported here first, without the threads of its linear algebra.

Nothing here does linear algebra, and each of these threads keeps a processor busy for a while before it goes
to sleep: at the start of a process that costs as much as importing NumPy. Who wants them says so in the
environment. What is set here is for this process alone, not for those it starts.
"""

from __future__ import annotations

import os
from importlib import import_module

THREADS = "OPENBLAS_NUM_THREADS"
SAID_BY = frozenset({THREADS, "OMP_NUM_THREADS"})

if SAID_BY.isdisjoint(os.environ):
    os.environ[THREADS] = "1"
    try:
        import_module("numpy")
    finally:
        del os.environ[THREADS]
