"""How long random runs last, and where their numbers begin: `soak.py` says both.

A run is repeated by the seed its round was told with.
"""

from __future__ import annotations

import os

EXAMPLES = int(os.environ.get("MOORING_SOAK_EXAMPLES", "2000"))
SEED = int(os.environ.get("MOORING_SOAK_SEED", "0"))


def soak_seeds(played: int) -> range:
    """Seeds beyond those every run of the tests plays; others for each round."""
    return range(played + SEED, played + SEED + EXAMPLES)
