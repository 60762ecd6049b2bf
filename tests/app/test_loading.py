"""Plugins of a scheduler that is to run for long: what hangs or ends does so in another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.app.loading import load_plugins, shown_if_it_hangs
from mooring.errors import PolicyError

GOOD = "from mooring import Plugin\nclass Good(Plugin):\n    def score(self, cycle, pod, node): return 1\n"


def test_good_policies_are_loaded_and_what_they_do_besides_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "good.py").write_text("import random\nrandom.seed(1)\n" + GOOD)
    with shown_if_it_hangs():  # that it is being waited for must not keep the other process from beginning
        assert "Good" in load_plugins(tmp_path).names()
    assert "changes the state of random for the whole process" in caplog.text


@pytest.mark.parametrize("text", ["import os\nos._exit(3)\n", "import sys\nsys.exit(3)\n"])
def test_what_ends_the_process_is_a_mistake(tmp_path: Path, text: str) -> None:
    (tmp_path / "ends.py").write_text(text)
    with pytest.raises(PolicyError):
        load_plugins(tmp_path)
