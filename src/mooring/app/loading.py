"""Loads the plugins of a scheduler that is to run for long: in another process first, then in this one."""

from __future__ import annotations

import faulthandler
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring.app.apart import Found, check_apart
from mooring.errors import InputError, PolicyError
from mooring.framework.loading.discovery import import_built_in
from mooring.framework.loading.registry import Registry
from mooring.plugins.catalogue import make_registry

log = logging.getLogger("mooring.app")

STANDARD_ERROR = 2  # whatever Python calls so
HANGS_S = 60.0  # after so long it is shown what keeps it from starting


@contextmanager
def shown_if_it_hangs() -> Iterator[None]:
    """What a configuration names is loaded right here; if it hangs, standard error shows where."""
    faulthandler.dump_traceback_later(HANGS_S, file=STANDARD_ERROR)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def load_plugins(policies: Path | None) -> Registry:
    """All plugins. Policies that hang, or end the process, do so elsewhere: then none is loaded here."""
    if policies is not None:
        import_built_in()
        (found,) = check_apart([policies], _found)
        for remark in found.remarks:
            log.warning("%s", remark)
        if found.mistakes:
            raise PolicyError(found.mistakes)
    with shown_if_it_hangs():
        return make_registry(policies)


def _found(policies: Path) -> Found:
    try:
        make_registry(policies)
    except InputError as error:
        return Found(list(error.mistakes))
    return Found()
