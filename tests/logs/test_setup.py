"""One handler, a verbosity that may change, libraries from WARNING up."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from mooring import logs

LOG = logging.getLogger("mooring.test")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("mooring")
    before = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


def test_verbosity() -> None:
    stream = io.StringIO()
    logs.configure(2, stream=stream)
    assert logs.verbosity() == 2
    LOG.log(logs.V2, "shown")
    LOG.log(logs.V3, "hidden")
    logs.set_verbosity(3)
    LOG.log(logs.V3, "shown too")
    assert [line.split("] ")[1] for line in stream.getvalue().splitlines()] == ['"shown"', '"shown too"']


def test_a_level_that_is_off_formats_nothing() -> None:
    class Costly:
        def __str__(self) -> str:
            raise AssertionError("formatted")

    logs.configure(0, stream=io.StringIO())
    assert not LOG.isEnabledFor(logs.V2)
    LOG.log(logs.V2, "%s", Costly())


def test_setting_up_again_replaces_the_handler() -> None:
    first, second = io.StringIO(), io.StringIO()
    others = len(logging.getLogger().handlers)
    logs.configure(0, stream=first)
    logs.configure(0, "json", stream=second)
    LOG.info("hello")
    assert first.getvalue() == ""
    assert '"msg":"hello"' in second.getvalue()
    assert len(logging.getLogger().handlers) == others + 1


def test_libraries_are_heard_when_something_is_wrong() -> None:
    stream = io.StringIO()
    logs.configure(10, stream=stream)
    library = logging.getLogger("somelibrary")
    library.info("chatter")
    library.warning("trouble")
    assert stream.getvalue().count("\n") == 1


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    logs.quiet()
    LOG.error("nothing")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verbosity", [-1, 11])
def test_out_of_range(verbosity: int) -> None:
    with pytest.raises(ValueError, match="not between 0 and 10"):
        logs.set_verbosity(verbosity)
