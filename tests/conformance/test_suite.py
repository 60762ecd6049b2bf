from __future__ import annotations

from pathlib import Path

import pytest

from conformance.suite import SUITE, selection
from e2e import binaries


def test_the_suite_is_of_the_version_of_the_control_plane() -> None:
    assert SUITE.version == binaries.PROGRAMS["kube-apiserver"].version


def test_a_focus_narrows_the_selection() -> None:
    assert selection("taints") == [*selection(""), "--ginkgo.focus=taints"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOORING_E2E_CACHE", str(tmp_path / "cache"))
    for name, text in {"go.mod": "require a.b/c v1.2.3\n", "go.sum": "", "main.go": "package main\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_another_source_is_another_program(folder: Path) -> None:
    made = binaries.OwnProgram("one", str(folder), "a.b/c", ".")
    before = made.path
    assert before.name == "one"
    assert before.is_relative_to(folder / "cache")
    (folder / "main.go").write_text("package main // changed\n")
    assert made.path != before


def test_without_go_it_says_what_it_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(binaries.CannotBuild, match="building one needs Go 1.26 or newer"):
        binaries.build_missing([binaries.OwnProgram("one", str(folder), "a.b/c", ".")])
