"""The files behind what a person names: files, folders with everything below them, standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from mooring.config.bounds import read_bounded, read_bounded_stream
from mooring.config.document import Document, read_documents
from mooring.errors import InputError, Mistake

SUFFIXES = (".yaml", ".yml", ".json")
STANDARD_INPUT = "-"


class Sources:
    """Reads every document of the given paths; `mistakes` collects what cannot be read."""

    def __init__(self, paths: Sequence[str | Path], stdin: TextIO | None = None) -> None:
        self.mistakes: list[Mistake] = []
        self.files: list[str] = []  # in the order they were read, or could not be
        self._paths = paths
        self._stdin = stdin
        self._seen: set[Path] = set()

    def documents(self) -> Iterator[Document]:
        for path in self._paths:
            if str(path) == STANDARD_INPUT:
                yield from self._standard_input()
            else:
                yield from self._path(Path(path))

    def _standard_input(self) -> Iterator[Document]:
        try:
            text = read_bounded_stream(self._stdin or sys.stdin)
        except UnicodeDecodeError:
            self._wrong("<stdin>", "not UTF-8 text.")
        except OSError as error:
            self._wrong("<stdin>", f"cannot be read: {error.strerror}.")
        else:
            yield from self._parse(text, "<stdin>", required=True)

    def _path(self, path: Path) -> Iterator[Document]:
        if path.is_dir():
            yield from self._folder(path)
        elif path.exists():
            yield from self._file(path, required=True)
        else:
            self._wrong(path, "no such file or folder.")

    def _folder(self, folder: Path) -> Iterator[Document]:
        files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
        if not files:
            self._wrong(folder, "no *.yaml, *.yml or *.json file in this folder.")
        for path in files:
            yield from self._file(path, required=False)

    def _file(self, path: Path, *, required: bool) -> Iterator[Document]:
        """A file named twice, or also found in a named folder, is read once."""
        if path.resolve() in self._seen:
            return
        self._seen.add(path.resolve())
        try:
            text = read_bounded(path)
        except UnicodeDecodeError:
            self._wrong(path, "not UTF-8 text.")
        except OSError as error:
            self._wrong(path, f"cannot be read: {error.strerror}.")
        else:
            yield from self._parse(text, str(path), required=required)

    def _parse(self, text: str, file: str, *, required: bool) -> Iterator[Document]:
        self.files.append(file)
        try:
            documents = read_documents(text, file)
        except InputError as error:
            self.mistakes += error.mistakes
            return
        if required and not documents:
            self._wrong(file, "no object in it.")
        yield from documents

    def _wrong(self, path: str | Path, what: str) -> None:
        self.files.append(str(path))
        self.mistakes.append(Mistake(str(path), what))
