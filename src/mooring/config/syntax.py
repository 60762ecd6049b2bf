"""YAML syntax errors as one clear line with a place."""

from __future__ import annotations

import yaml

from mooring.errors import Mistake


def syntax_mistake(error: Exception, text: str, file: str) -> Mistake:
    """The mistake behind an exception of the YAML parser."""
    if isinstance(error, yaml.reader.ReaderError):
        before = text.encode(errors="replace")[: error.position].decode(errors="ignore")
        return Mistake(_place_after(before, file), _control_character(error))
    if isinstance(error, UnicodeEncodeError):
        return Mistake(
            _place_after(text[: error.start], file), "a character here is half of a surrogate pair."
        )
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        what = _tab(text, mark) or _what(error)
        return Mistake(f"{file}:{mark.line + 1}:{mark.column + 1}", what)
    return Mistake(f"{file}:1:1", f"not valid YAML: {error}.")


def _what(error: yaml.MarkedYAMLError) -> str:
    problem = (error.problem or "not understood").strip()
    context = error.context or ""
    if context.startswith("found duplicate anchor"):
        return "not valid YAML: this anchor is already taken."
    start = error.context_mark
    where = f" ({context} from line {start.line + 1})" if start is not None and context else ""
    return f"not valid YAML: {problem}{where}."


def _tab(text: str, mark: yaml.Mark) -> str:
    """Tabs look like spaces, so they get a sentence of their own."""
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    is_tab = line[mark.column : mark.column + 1] == "\t"
    return "not valid YAML: a tab cannot indent; use spaces." if is_tab else ""


def _control_character(error: yaml.reader.ReaderError) -> str:
    code = error.character if isinstance(error.character, int) else 0
    return f"not valid YAML: character U+{code:04X} is not allowed."


def _place_after(before: str, file: str) -> str:
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return f"{file}:{line}:{column}"
