"""Kinds of values that options of several commands take."""

from __future__ import annotations

from pathlib import Path

import click

from mooring.config.durations import Duration
from mooring.config.feature_gates import FeatureGates, parse_feature_gates

EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class DurationType(click.ParamType[Duration]):
    """A duration as Kubernetes writes them: 90s, 1h30m."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Duration:
        try:
            return value if isinstance(value, Duration) else Duration.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class GatesType(click.ParamType[FeatureGates]):
    """Feature gates as kube-scheduler takes them: A=true,B=false."""

    name = "gates"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> FeatureGates:
        return value if isinstance(value, FeatureGates) else parse_feature_gates(str(value))
