"""Keeps a lease aside from deciding: in a thread, an event loop and over connections of its own.

A policy that computes for long does not lose the lease for it: Python takes turns between threads every few
milliseconds. Only code outside Python that holds the interpreter for as long as the lease lasts can.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from mooring.kube.lease.lease import LeaderElector, Stuck

log = logging.getLogger("mooring.kube")

FAILED = 1
JOIN_S = 5.0  # for what is under way in the thread when it is asked to end


def end_process() -> None:
    """Ends the process from any thread, whatever the others are at. What was logged is written first."""
    for handler in logging.getLogger().handlers:
        with contextlib.suppress(Exception):
            handler.flush()
    os._exit(FAILED)


class LeaseThread:
    """One candidate at work. What it says of leading is said in the loop in which it was started."""

    def __init__(
        self,
        elector: LeaderElector,
        close: Callable[[], Coroutine[Any, Any, None]],
        *,
        end: Callable[[], None] = end_process,
    ) -> None:
        self._elector = elector
        self._close = close
        self._end = end
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._candidacy: asyncio.Task[None] | None = None
        self._begun = threading.Event()
        self._released = False
        self._giving_back: asyncio.Task[None] | None = None

    def start(
        self, on_started: Callable[[], None], on_stopped: Callable[[], None], on_doubt: Callable[[], None]
    ) -> None:
        """Takes part in the election from now on. Must be called in a running loop, once."""
        caller = asyncio.get_running_loop()
        if self._released:
            return

        def says(what: Callable[[], None]) -> Callable[[], None]:
            return lambda: _in(caller, what)

        work = self._run(says(on_started), says(on_stopped), says(on_doubt))
        self._thread = threading.Thread(target=asyncio.run, args=(work,), name="lease", daemon=True)
        self._thread.start()
        self._begun.wait()

    async def release(self) -> None:
        """Lets others lead at once. Only when nothing is being written any more."""
        self._released = True
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # it has just ended
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._give_back(), self._loop))

    async def close(self) -> None:
        """Takes part no longer, and gives nothing back."""
        if self._thread is not None:
            assert self._loop is not None
            assert self._candidacy is not None
            _in(self._loop, self._candidacy.cancel)
            await asyncio.to_thread(self._thread.join, JOIN_S)

    async def _give_back(self) -> None:
        """The candidacy ends of it, and its loop with that: not before it is done."""
        self._giving_back = asyncio.current_task()
        await self._elector.release()

    async def _run(
        self, on_started: Callable[[], None], on_stopped: Callable[[], None], on_doubt: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._candidacy = self._loop.create_task(self._elector.run(on_started, on_stopped, on_doubt))
        self._begun.set()
        try:
            await self._candidacy
        except asyncio.CancelledError:
            pass
        except Stuck as stuck:
            log.critical("deciding is stuck, so the lease is given up and the process ends: %s", stuck)
            self._end()
        except Exception:
            log.exception("the election ends")
            on_stopped()  # the lease runs out by itself
        finally:
            if self._giving_back is not None:
                await asyncio.wait({self._giving_back})
            await self._close()


def _in(loop: asyncio.AbstractEventLoop, what: Callable[[], object]) -> None:
    """Has something done in a loop, if that still runs."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(what)
