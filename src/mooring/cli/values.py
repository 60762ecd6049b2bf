"""Kinds of values that options of several commands take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mooring.config.durations import Duration
from mooring.config.feature_gates import parse_feature_gates

T = TypeVar("T")


class ReadBy(click.ParamType[T]):
    """Values that a function reads from text; its ValueError says what is wrong with one."""

    def __init__(self, name: str, read: Callable[[str], T]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        try:
            return self._read(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
DURATION = ReadBy("duration", Duration.parse)  # as Kubernetes writes them: 90s, 1h30m
GATES = ReadBy("gates", parse_feature_gates)  # as kube-scheduler takes them: A=true,B=false
NAMES = ReadBy("names", lambda text: tuple(filter(None, (name.strip() for name in text.split(",")))))
