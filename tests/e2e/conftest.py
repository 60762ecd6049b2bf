"""Fixtures of the end-to-end tests: one control plane for all, a namespace and clean nodes for each."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from e2e import binaries
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.mooring_process import mooring
from e2e.scheduler import Scheduler, StartScheduler, kube_scheduler

HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Nobody waits minutes for programs to be built who did not ask for these tests by their path."""
    asked = (Path(word.partition("::")[0]).resolve() for word in config.args)
    return None if any(path.is_relative_to(HERE) for path in asked) else True


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd, API server, controllers and kwok."""
    signal.signal(signal.SIGTERM, interrupt)  # being told to end is like Ctrl-C: what was started is ended
    try:
        made = ControlPlane(tmp_path_factory.mktemp("control-plane"))
    except binaries.CannotBuild as error:
        pytest.exit(str(error), returncode=2)
    with made as plane:
        yield plane


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    """An empty cluster: no nodes, and a namespace of the test's own."""
    share = Cluster(control_plane)
    yield share
    share.clean()


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A module's own: what is installed there has the names that other tests' Moorings have as well."""
    with ControlPlane(tmp_path_factory.mktemp("deployed")) as made:
        yield made


@pytest.fixture
def share(plane: ControlPlane) -> Iterator[Cluster]:
    """An empty cluster, with nodes. Who has pods on them asks for it first: nodes go last."""
    made = Cluster(plane)
    made.add_nodes(3)
    yield made
    made.clean()


@pytest.fixture
def started() -> Iterator[ExitStack]:
    """Ends what is entered into it."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def start_kube_scheduler(control_plane: ControlPlane) -> Iterator[StartScheduler]:
    yield from starting(partial(kube_scheduler, control_plane))


@pytest.fixture
def start_mooring(control_plane: ControlPlane) -> Iterator[StartScheduler]:
    """Starts Mooring and returns it when it is ready: `start_mooring(config, policies=folder)`."""
    yield from starting(partial(mooring, control_plane))


def starting(make: Callable[..., Scheduler]) -> Iterator[StartScheduler]:
    """Ends whatever the test has started, also when it fails."""
    with ExitStack() as started:

        def start(*words: Any, **options: Any) -> Scheduler:
            return started.enter_context(make(*words, **options))

        yield start


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """A failed test shows the end of what its schedulers logged."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        plane = getattr(item, "funcargs", {}).get("control_plane")
        if plane is not None:
            report.sections.append(("control plane logs", plane.folder.as_posix()))
            for log in sorted(plane.folder.glob("*-[0-9]*.log"), key=lambda path: path.stat().st_mtime)[-2:]:
                tail = log.read_text(errors="replace").splitlines()[-40:]
                report.sections.append((log.name, "\n".join(tail)))
