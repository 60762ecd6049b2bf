"""The watchdog: what takes for ever is named, and interrupted where that is safe."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.stage import Stage, made, pod
from mooring.app.watchdog import Watchdog, files_of
from mooring.app.whereabouts import Policies
from mooring.engine.decisions import Bind
from mooring.errors import PolicyHangs
from mooring.framework.api.scope import Scope
from mooring.framework.loading.discovery import plugins_in_file

SLOW = {"slow": "1"}
ANY = Policies(())  # methods of plugins are known by their plugin


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Looking:
    """A watchdog that looks whenever it is told to, a second after the last time."""

    def __init__(self, **options: Any) -> None:
        self.time = Time()
        self.dog = Watchdog(ANY, clock=self.time, **options)

    def look(self, depth: int = 1) -> None:
        self.time.now += 1.0
        self.dog.look(0, sys._getframe(depth))


def endless(looks: Callable[[], None], point: str = "filter", **more: Any) -> type:
    def method(self: Any, *arguments: Any) -> Any:
        subject = next(a for a in arguments if hasattr(a, "labels") and hasattr(a, "spec"))
        while subject.labels.get("slow"):
            looks()
        return 0 if point == "score" else None

    method.__code__ = method.__code__.replace(co_name=point)
    return made("Endless", **{"filter": lambda self, *a: None, point: method}, **more)


@pytest.mark.parametrize("scope", [Scope.CLUSTER, Scope.ROW, Scope.STATIC])
@pytest.mark.parametrize("point", ["pre_filter", "filter", "score", "reserve", "permit"])
def test_an_endless_loop_costs_its_pod_a_cycle(point: str, scope: Scope) -> None:
    looking = Looking()
    stage = Stage(endless(lambda: looking.look(2), point, scope=scope)).nodes("n", "m")
    refusal = stage.wait(pod("p", labels=SLOW))
    assert (refusal.reason, refusal.plugins) == ("SchedulerError", ("Endless",))
    assert (
        f"PointTimedOut: not done after 5 s: plugin Endless, {point}, pod default/p, at " in refusal.message
    )
    assert f"{__file__}:" in refusal.message
    assert isinstance(stage.try_pod(pod("q")), Bind)


def test_a_simulation_ends_instead() -> None:
    looking = Looking(raises=PolicyHangs)
    stage = Stage(endless(lambda: looking.look(2))).nodes("n", "m")
    stage.add(pod("p", labels=SLOW))
    with pytest.raises(PolicyHangs, match="plugin Endless, filter, pod default/p"):
        stage.engine.schedule(0.0)


def test_calls_that_end_are_left_alone() -> None:
    """However many there are: each is looked at by itself."""
    looking = Looking()

    def filter_(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        looking.look(1)
        looking.look(1)

    stage = Stage(made("Slow", filter=filter_)).nodes(*(f"n{i}" for i in range(20)))
    assert isinstance(stage.try_pod(pod("p")), Bind)


def test_nothing_is_raised_in_the_middle_of_moorings_own_work() -> None:
    looking = Looking()
    inside: list[str] = []

    def filter_(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        for _ in range(20):
            inside.append("policy")
            looking.look(1) if len(inside) > 20 else sort(inside)

    def sort(values: list[str]) -> None:
        # As if Mooring had been called by the policy, and is busy with its own.
        looking.look(1)

    sort.__code__ = sort.__code__.replace(co_filename=Watchdog.look.__code__.co_filename)
    stage = Stage(made("Deep", filter=filter_)).nodes("n", "m")
    assert "PointTimedOut" in stage.wait(pod("p")).message
    assert len(inside) == 20 + 6  # all of the first node's, and of the second's until it is found


HINTING = """
from mooring import Plugin, unschedulable
from mooring.framework.api.events import NODE, Action, Interest

def never_ends(pod, old, new):
    while True:
        looks()

class Hinting(Plugin):
    def filter(self, cycle, pod, node):
        return unschedulable("no")

    def events(self):
        return [Interest(NODE, Action.ADD, never_ends)]
"""


def test_what_policies_give_to_mooring_is_interrupted_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A queueing hint is a function of a policy's file, and no method of a plugin."""
    file = tmp_path / "hinting.py"
    file.write_text(HINTING)
    (plugin,) = plugins_in_file(file)
    time = Time()
    dog = Watchdog(Policies(files_of([plugin])), clock=time)

    def looks() -> None:
        time.now += 1.0
        dog.look(0, sys._getframe(1))

    sys.modules[plugin.__module__].__dict__["looks"] = looks
    stage = Stage(plugin).nodes("n")
    stage.wait(p := pod("p"))
    stage.nodes("m")
    assert stage.where(p) == "backoff"  # better tried than lost
    assert "not done after 5 s: plugin hinting.py, never_ends, pod default/p, at " in caplog.text


def test_the_timer_finds_it_by_itself() -> None:
    """Also in C code that looks after signals: here a regular expression that takes for ever."""

    def filter_(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        re.match(r"(a+)+$", "a" * 60 + "b")

    stage = Stage(made("Backtracks", filter=filter_)).nodes("n", "m")
    stage.add(pod("p"))
    with Watchdog(ANY, limit_s=0.05):
        (refusal,) = stage.engine.schedule(0.0) or ()
    assert "PointTimedOut: not done after 0 s: plugin Backtracks, filter_, pod default/p" in refusal.message


class Loop:
    """Calls back when it is told to."""

    def call_later(self, delay: float, *call: Any) -> None:
        self.call = call

    def comes_round(self) -> None:
        function, *arguments = self.call
        function(*arguments)


def test_a_loop_that_does_not_come_round_is_stuck() -> None:
    time, loop = Time(), Loop()
    dog = Watchdog(ANY, clock=time)
    assert dog.stuck() == ""  # there is none yet
    dog.follow(loop)  # type: ignore[arg-type]
    for _ in range(20):
        time.now += 2.0
        loop.comes_round()
        assert dog.stuck() == ""
    said = []
    for _ in range(6):
        time.now += 2.0
        said.append(dog.stuck())
    assert said[:4] == [""] * 4
    assert said[5].endswith(", for 12 s")
    loop.comes_round()
    assert dog.stuck() == ""


def test_work_of_its_own_that_takes_long_is_told_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """It comes to an end; the next process would have to do the same."""
    time = Time()
    dog = Watchdog(ANY, clock=time)
    dog.follow(Loop())  # type: ignore[arg-type]
    dog.stuck()

    def works(seconds: int) -> list[str]:
        said = []
        for second in range(seconds):
            time.now += 1.0
            dog.look(0, sys._getframe())
            said += [dog.stuck()] if second % 2 else []
        return said

    with caplog.at_level("WARNING"):
        assert not any(works(290))
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("deciding takes long, and nothing else is done meanwhile: ")
    assert works(20)[-1].endswith(" s")


def test_a_process_that_was_frozen_is_not_stuck() -> None:
    time, loop = Time(), Loop()
    dog = Watchdog(ANY, clock=time)
    dog.follow(loop)  # type: ignore[arg-type]
    dog.stuck()
    time.now += 3600.0
    assert dog.stuck() == ""


def test_it_says_on_what() -> None:
    """Asked by another thread, while the main thread is in a plugin."""
    time, said = Time(), list[str]()
    dog = Watchdog(ANY, clock=time)
    dog.follow(Loop())  # type: ignore[arg-type]
    dog.stuck()

    def ask() -> None:
        for _ in range(6):
            time.now += 2.0
            said.append(dog.stuck())

    def filter_(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        asking = threading.Thread(target=ask)
        asking.start()
        asking.join()

    Stage(made("Stuck", filter=filter_, scope=Scope.ROW)).nodes("n").try_pod(pod("p"))
    text = r"plugin Stuck, filter_, pod default/p, at .*test_watchdog.py:\d+, for \d+ s"
    assert re.fullmatch(text, said[5])
