"""How a fuzz test is written: once, for a few steady examples in `make test` and for as many as there is time
in `make fuzz`.

    @fuzzed(played=40)
    def test_what_must_hold(rng: random.Random) -> None: ...
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soaking import EXAMPLES

IS_LONG = "MOORING_SOAK_EXAMPLES" in os.environ
SEEDS = st.integers(0, 2**64 - 1)


def fuzzed(played: int) -> Callable[[Callable[[random.Random], None]], Callable[[], None]]:
    """A test of so many examples, each with a source of chance of its own."""

    def made(test: Callable[[random.Random], None]) -> Callable[[], None]:
        @settings(
            max_examples=EXAMPLES if IS_LONG else played,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(seed=SEEDS)
        def played_with(seed: int) -> None:
            test(random.Random(seed))

        played_with.__name__ = test.__name__
        played_with.__doc__ = test.__doc__
        return played_with

    return made
