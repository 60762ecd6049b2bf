"""Where plugins are found: entry points of installed packages, a folder of Python files, a reference."""

from __future__ import annotations

import ast
import importlib
import sys
import traceback
from collections.abc import Collection
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from mooring.errors import PolicyError, did_you_mean, wants_the_end
from mooring.framework.api.plugin import Plugin

GROUP = "mooring.plugins"


def installed_plugins() -> list[tuple[type[Plugin], bool]]:
    """Plugins of installed packages, by their entry points; True marks Mooring's own."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return [
        (class_at(f"{entry.module}:{entry.attr}"), entry.module.startswith("mooring.")) for entry in found
    ]


def import_built_in() -> None:
    """Has Mooring's own plugins imported: whoever loads others next need not wait for them."""
    for entry in entry_points(group=GROUP):
        if entry.module.startswith("mooring."):
            importlib.import_module(entry.module)


def plugins_in(folder: Path) -> list[type[Plugin]]:
    """Every plugin class defined in the `.py` files of a folder, in the order of the files."""
    if not folder.is_dir():
        raise PolicyError.at(str(folder), "there is no such folder of policies")
    files = [file for file in sorted(folder.glob("*.py")) if not file.name.startswith(("_", "test_"))]
    if not files:
        raise PolicyError.at(str(folder), "holds no .py file")
    return [plugin for file in files for plugin in plugins_in_file(file)]


def plugins_in_file(file: Path) -> list[type[Plugin]]:
    """Every plugin class defined in a Python file."""
    return _plugins_of(_run(file), file)


def class_at(reference: str) -> type[Plugin]:
    """The plugin class a `package.module:Class` names."""
    module_name, _, class_name = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:
        raise _broken(error, reference) from error
    found = getattr(module, class_name, None)
    if found is None:
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise PolicyError.at(
            reference, f'module {module_name} has no class "{class_name}".{did_you_mean(class_name, classes)}'
        )
    return _plugin_class(found, reference)


def _plugin_class(found: object, reference: str) -> type[Plugin]:
    if isinstance(found, type) and issubclass(found, Plugin):
        return found
    raise PolicyError.at(reference, "is not a subclass of mooring.Plugin")


def _plugins_of(module: ModuleType, file: Path) -> list[type[Plugin]]:
    mine = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == module.__name__
    ]
    if not mine:
        raise PolicyError.at(f"{file}:1:1", "defines no subclass of mooring.Plugin")
    _check_written_once(file, {each.__name__ for each in mine})
    return list(dict.fromkeys(mine))  # a class may have two names


def _check_written_once(file: Path, names: Collection[str]) -> None:
    """Of two classes of one name in a file, Python keeps the second without a word."""
    first: dict[str, int] = {}
    for found in ast.parse(file.read_bytes()).body:
        if isinstance(found, ast.ClassDef) and found.name in names:
            if found.name in first:
                what = f'there is already a class named "{found.name}" on line {first[found.name]}'
                raise PolicyError.at(f"{file}:{found.lineno}:{found.col_offset + 1}", what)
            first[found.name] = found.lineno


class Uncached(SourceFileLoader):
    """Compiles a file each time."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _run(file: Path) -> ModuleType:
    """Runs a policy file as a module of its own, as it is written now.

    Python's cache of compiled files is left out: it takes a file that was changed within a second,
    and kept its size, for the old one.
    """
    name = f"mooring_policies.{file.stem}"
    spec = spec_from_file_location(name, file, loader=Uncached(name, str(file.absolute())))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses and pickling look a class's module up here
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before  # its classes may still be in use
        raise _broken(error, str(file)) from error
    return module


def _broken(error: BaseException, where: str) -> PolicyError:
    """The place in the policy's own code at which importing it failed."""
    if wants_the_end(error):
        raise error
    if isinstance(error, SyntaxError):
        return PolicyError.at(
            f"{error.filename or where}:{error.lineno or 1}:{error.offset or 1}", f"{error.msg}"
        )
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame)]
    what = f"cannot be imported: {type(error).__name__}: {error}"
    if not frames:
        return PolicyError.at(where, what)  # none of its code ran: it was not found
    last = [frame for frame in frames if frame.filename == frames[0].filename][-1]
    return PolicyError.at(f"{last.filename}:{last.lineno}:{(last.colno or 0) + 1}", what)


def _is_machinery(frame: traceback.FrameSummary) -> bool:
    return frame.filename in (__file__, importlib.__file__) or frame.filename.startswith("<frozen importlib")
