"""What every test has to leave as it was."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from mooring.sim.result import Result

# The same examples every time, so that a change is judged by what it changes. `make soak` looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60)  # more in `make soak`
if "MOORING_SOAK_EXAMPLES" not in os.environ:
    settings.load_profile("steady")


@pytest.fixture(autouse=True, scope="session")
def _nobody_waits_in_silence() -> Iterator[None]:
    """Every simulation that ends by itself, in whatever test, leaves no pod that waits without a word."""
    from mooring.engine.engine import Engine
    from mooring.sim.simulation import Simulation
    from sim.silence import silent_pods

    run = Simulation.run

    def checked(simulation: Simulation) -> Result:
        result = run(simulation)
        if isinstance(simulation.engine, Engine) and not simulation.is_cut_short:
            assert silent_pods(simulation) == []
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulation, "run", checked)
        yield


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Commands set logging up for the whole process; the next test must not find it so."""
    root, ours = logging.getLogger(), logging.getLogger("mooring")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
