"""Has every pod placed twice, afresh and by what is kept: both must say the same."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.engine.engine import Engine
from mooring.engine.placement.fit_error import FitError
from mooring.engine.placement.search import Search


def place_twice(engine: Engine) -> None:
    """From now on, with the same luck for both; evaluations are kept from the first pod of a class."""
    placer, rng, place = engine.placer, engine._rng, engine.placer.place

    def twice(search: Search) -> Any:
        luck, placer.keep_evaluations = rng.getstate(), False
        fresh: Any = place(replace(search, cycle=search.cycle.clone()))
        placer.keep_evaluations = True
        rng.setstate(luck)
        kept: Any = place(search)
        assert type(fresh) is type(kept)
        if isinstance(fresh, FitError):
            assert fresh.message() == kept.message()
        else:
            assert fresh.totals == kept.totals
        return kept

    placer.place = twice  # type: ignore[method-assign]
