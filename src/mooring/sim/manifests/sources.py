"""The files behind what a person names: files, folders with everything below them, standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from mooring.config.bounds import read_bounded, read_bounded_stream
from mooring.config.document import Document, read_documents
from mooring.errors import InputError, Mistake
from mooring.sim.manifests.folders import Folder
from mooring.sim.manifests.not_objects import NOT_TEXT, broken_text
from mooring.sim.manifests.notes import Notes

STANDARD_INPUT = "-"


class Sources:
    """Reads every document of the given paths; `mistakes` collects what cannot be read.

    A file that somebody names has to hold objects; of those found in folders, `notes` hears which do not.
    What is right in a named folder has to be without mistakes; what is further down is left out for them.
    """

    def __init__(self, paths: Sequence[str | Path], notes: Notes, stdin: TextIO | None = None) -> None:
        self.mistakes: list[Mistake] = []
        self._notes = notes
        self._folder_of: dict[str, Folder] = {}  # of the files that were found in one
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
            yield from self._read_folder(path)
        elif path.exists():
            yield from self._file(path)
        else:
            self._wrong(path, "no such file or folder.")

    def was_found(self, document: Document) -> bool:
        """Whether nobody named its file, but only a folder that it is in."""
        return document.file in self._folder_of

    def complete(self, document: Document, data: dict[str, Any]) -> None:
        """Gives an object what a kustomization gives to all objects of its files."""
        folder = self._folder_of.get(document.file)
        if folder is not None:
            folder.kustomizations.complete(Path(document.file), data)

    def is_further_down(self, document: Document) -> bool:
        """Whether its file is not right in a named folder but somewhere below, among all sorts of things."""
        folder = self._folder_of.get(document.file)
        return folder is not None and Path(document.file).parent != folder.path

    def _read_folder(self, path: Path) -> Iterator[Document]:
        folder = Folder(path)
        if folder.is_empty:
            self._wrong(path, "no *.yaml, *.yml or *.json file in this folder.")
        for file in folder.manifests(self._notes):
            yield from self._file(file, folder)

    def _file(self, path: Path, folder: Folder | None = None) -> Iterator[Document]:
        """A file named twice, or also found in a named folder, is read once."""
        if path.resolve() in self._seen:
            return
        self._seen.add(path.resolve())
        if folder is not None:
            self._folder_of[str(path)] = folder
        try:
            text = read_bounded(path)
        except UnicodeDecodeError:
            if folder is None:
                self._wrong(path, "not UTF-8 text.")
            else:
                self._notes.add(NOT_TEXT, str(path))
        except OSError as error:
            self._wrong(path, f"cannot be read: {error.strerror}.")
        else:
            yield from self._parse(text, str(path), required=folder is None)

    def _parse(self, text: str, file: str, *, required: bool) -> Iterator[Document]:
        self.files.append(file)
        try:
            documents = read_documents(text, file)
        except InputError as error:
            self._pass_over(text, file, error.mistakes)
            return
        if required and not documents:
            self._wrong(file, "no object in it.")
        yield from documents

    def _pass_over(self, text: str, file: str, mistakes: Sequence[Mistake]) -> None:
        """Most files in folders that cannot be read are no manifests."""
        folder = self._folder_of.get(file)
        if folder is not None and (what := broken_text(text)):
            self._notes.add(what, file)
        elif folder is not None and Path(file).parent != folder.path:
            self._notes.leave_out(mistakes)
        else:
            self.mistakes += mistakes

    def _wrong(self, path: str | Path, what: str) -> None:
        self.files.append(str(path))
        self.mistakes.append(Mistake(str(path), what))
