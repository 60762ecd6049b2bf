"""Plugins are found in folders, by reference and by entry points; what is broken is told with its place."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from mooring.errors import PolicyError
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading import discovery
from mooring.framework.loading.discovery import class_at, installed_plugins, plugins_in

Write = Callable[..., Path]
Place = Callable[[Path, str], str]


def mistake(load: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(PolicyError) as error:
        load()
    (only,) = error.value.mistakes
    return only.place, only.what


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that `write` writes to can be imported from, and leaves nothing behind."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


# folders


def test_every_plugin_of_a_folder_in_the_order_of_files(write: Write, tmp_path: Path) -> None:
    write("class Late(Plugin): ...", "b.py")
    write("class First(Plugin): ...\nclass Second(Plugin): ...", "a.py")
    write("raise ValueError", "_draft.py")
    write("raise ValueError", "test_a.py")
    write("raise ValueError", "notes.txt")
    found = plugins_in(tmp_path)
    assert [plugin.name for plugin in found] == ["First", "Second", "Late"]
    assert sys.modules[found[0].__module__].__file__ == str(tmp_path / "a.py")


def test_imported_plugins_are_not_the_files_own(write: Write, tmp_path: Path) -> None:
    write("from mooring.plugins.node_name import NodeName\nclass Mine(Plugin): ...")
    assert [plugin.name for plugin in plugins_in(tmp_path)] == ["Mine"]


def test_a_class_of_two_names_is_one_plugin(write: Write, tmp_path: Path) -> None:
    write("class Mine(Plugin): ...\nOther = Mine")
    assert [plugin.name for plugin in plugins_in(tmp_path)] == ["Mine"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"
    assert mistake(lambda: plugins_in(folder)) == (str(folder), "there is no such folder of policies")


def test_a_folder_without_files(tmp_path: Path) -> None:
    assert mistake(lambda: plugins_in(tmp_path)) == (str(tmp_path), "holds no .py file")


def test_a_file_without_plugins(write: Write, tmp_path: Path) -> None:
    file = write("x = 1")
    assert mistake(lambda: plugins_in(tmp_path)) == (
        f"{file}:1:1",
        "defines no subclass of mooring.Plugin",
    )


def test_a_syntax_error_has_its_place(write: Write, tmp_path: Path, place: Place) -> None:
    file = write("""
        class Mine(Plugin):
            def filter(self, cycle, pod, node)
                return None
    """)
    where, what = mistake(lambda: plugins_in(tmp_path))
    line = place(file, "def filter").split(":")[-2]
    assert where.startswith(f"{file}:{line}:")
    assert what == "expected ':'"


BROKEN = """
    def limit():
        return 1 / 0

    class Mine(Plugin):
        most = limit()
"""


def test_an_error_on_importing_has_its_place(write: Write, tmp_path: Path, place: Place) -> None:
    file = write(BROKEN)
    assert mistake(lambda: plugins_in(tmp_path)) == (
        place(file, "1 / 0"),
        "cannot be imported: ZeroDivisionError: division by zero",
    )


def test_the_place_is_found_through_a_relative_path(
    write: Write, tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(BROKEN, "policies/mine.py")
    monkeypatch.chdir(tmp_path)
    assert mistake(lambda: plugins_in(Path("policies")))[0] == place(file, "1 / 0")


def test_an_import_that_fails_has_its_place(write: Write, tmp_path: Path, place: Place) -> None:
    file = write("import no_such_thing\nclass Mine(Plugin): ...")
    assert mistake(lambda: plugins_in(tmp_path)) == (
        place(file, "import no_such_thing"),
        "cannot be imported: ModuleNotFoundError: No module named 'no_such_thing'",
    )


def test_an_error_deep_in_a_library_is_placed_in_the_policy(
    write: Write, tmp_path: Path, place: Place
) -> None:
    file = write("import json\nlimits = json.loads('{')\nclass Mine(Plugin): ...")
    where, what = mistake(lambda: plugins_in(tmp_path))
    assert where == place(file, "json.loads")
    assert what.startswith("cannot be imported: JSONDecodeError: ")


def test_a_broken_file_does_not_replace_the_module_that_works(write: Write, tmp_path: Path) -> None:
    write("class Mine(Plugin): ...")
    (good,) = plugins_in(tmp_path)
    module = sys.modules[good.__module__]
    write("raise ValueError")
    with pytest.raises(PolicyError):
        plugins_in(tmp_path)
    assert sys.modules[good.__module__] is module


def test_a_file_that_never_worked_leaves_no_module(write: Write, tmp_path: Path) -> None:
    write("raise ValueError", "never.py")
    with pytest.raises(PolicyError):
        plugins_in(tmp_path)
    assert "mooring_policies.never" not in sys.modules


# references


def test_a_class_by_its_reference() -> None:
    assert class_at("mooring.plugins.node_name:NodeName").name == "NodeName"


def test_a_class_that_is_not_there_and_the_nearest_that_is() -> None:
    assert mistake(lambda: class_at("mooring.plugins.node_name:NodeNmae")) == (
        "mooring.plugins.node_name:NodeNmae",
        'module mooring.plugins.node_name has no class "NodeNmae". Did you mean "NodeName"?',
    )


def test_a_module_that_is_not_there() -> None:
    where, what = mistake(lambda: class_at("mooring.no_such:Thing"))
    assert where == "mooring.no_such:Thing"
    assert what == "cannot be imported: ModuleNotFoundError: No module named 'mooring.no_such'"


@pytest.mark.parametrize("reference", ["mooring.errors:MooringError", "mooring.errors:did_you_mean"])
def test_what_is_no_plugin(reference: str) -> None:
    assert mistake(lambda: class_at(reference)) == (reference, "is not a subclass of mooring.Plugin")


def test_a_module_that_breaks_has_its_place(write: Write, importable: Path, place: Place) -> None:
    file = write(BROKEN, "broken_policy.py")
    assert mistake(lambda: class_at("broken_policy:Mine")) == (
        place(file, "1 / 0"),
        "cannot be imported: ZeroDivisionError: division by zero",
    )


def test_a_module_whose_own_import_fails_has_its_place(write: Write, importable: Path, place: Place) -> None:
    file = write("import no_such_thing\nclass Mine(Plugin): ...", "lacking_policy.py")
    where, what = mistake(lambda: class_at("lacking_policy:Mine"))
    assert where == place(file, "import no_such_thing")
    assert "No module named 'no_such_thing'" in what


def test_a_module_with_a_syntax_error_has_its_place(write: Write, importable: Path) -> None:
    file = write("x = (", "unclosed_policy.py", header="")
    assert mistake(lambda: class_at("unclosed_policy:Mine")) == (f"{file}:1:5", "'(' was never closed")


# entry points


def entries(monkeypatch: pytest.MonkeyPatch, **references: str) -> None:
    found = [EntryPoint(name, value, discovery.GROUP) for name, value in references.items()]
    monkeypatch.setattr(discovery, "entry_points", lambda group: found if group == discovery.GROUP else [])


def test_installed_plugins_come_by_name_and_say_whose_they_are(
    write: Write, importable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("class Mine(Plugin): ...", "third_party.py")
    entries(monkeypatch, Zeta="mooring.plugins.node_name:NodeName", Alpha="third_party:Mine")
    found = [(plugin.name, own) for plugin, own in installed_plugins()]
    assert found == [("Mine", False), ("NodeName", True)]


def test_the_built_in_plugins_are_installed() -> None:
    names = {plugin.name for plugin, own in installed_plugins() if own}
    assert {"NodeResourcesFit", "TaintToleration", "DefaultBinder", "PrioritySort"} <= names


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("no_such_package:Mine", "No module named 'no_such_package'"),
        ("mooring.plugins.node_name:NodeNames", 'Did you mean "NodeName"?'),
        ("mooring.errors:MooringError", "is not a subclass of mooring.Plugin"),
    ],
    ids=["not there", "misspelt", "no plugin"],
)
def test_a_broken_entry_point_is_named(monkeypatch: pytest.MonkeyPatch, reference: str, what: str) -> None:
    entries(monkeypatch, Mine=reference)
    where, found = mistake(installed_plugins)
    assert where == reference
    assert what in found


def test_subclasses_are_named_after_themselves() -> None:
    class Base(Plugin):
        name = "Given"

    class Derived(Base): ...

    assert (Base.name, Derived.name) == ("Given", "Derived")


def test_a_file_changed_within_the_second_is_read_anew(write: Callable[..., Path]) -> None:
    source = "class {}(Plugin):\n    def filter(self, cycle, pod, node): ..."
    file = write(source.format("A"))
    assert [plugin.name for plugin in plugins_in(file.parent)] == ["A"]
    times = (file.stat().st_atime, file.stat().st_mtime)
    write(source.format("B"))
    os.utime(file, times)  # same time, same size: only the text differs
    assert [plugin.name for plugin in plugins_in(file.parent)] == ["B"]
