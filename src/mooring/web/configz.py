"""`/configz`: the configuration in use, as a KubeSchedulerConfiguration in JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.config.catalogue import PluginUse
from mooring.config.durations import Duration, format_duration
from mooring.config.load import SchedulerConfig
from mooring.config.profiles import ProfilePlan
from mooring.config.scheduler import API_VERSION, KIND

NAME = "kubescheduler.config.k8s.io"
HIDDEN = "--- REDACTED ---"
SECRETS = ("keyData",)


def configz(config: SchedulerConfig) -> bytes:
    settings = {
        field.encode_name: _plain(getattr(config, field.name))
        for field in msgspec.structs.fields(type(config))
        if field.name not in ("profiles", "remarks")
    }
    return msgspec.json.encode(
        {
            NAME: {
                "apiVersion": API_VERSION,
                "kind": KIND,
                **{_camel(name): value for name, value in settings.items()},
                "profiles": [_profile(plan) for plan in config.profiles],
            }
        },
        enc_hook=str,
    )


def _profile(plan: ProfilePlan) -> dict[str, Any]:
    points = {point: {"enabled": [_use(point, use) for use in uses]} for point, uses in plan.points.items()}
    shown: dict[str, Any] = {"schedulerName": plan.scheduler_name}
    if plan.percentage_of_nodes_to_score is not None:
        shown["percentageOfNodesToScore"] = plan.percentage_of_nodes_to_score
    args = [{"name": name, "args": _plain(given)} for name, given in plan.args.items()]
    return {**shown, "plugins": points, "pluginConfig": args}


def _use(point: str, use: PluginUse) -> dict[str, Any]:
    return {"name": use.name, "weight": use.weight} if point == "score" else {"name": use.name}


def _plain(value: Any) -> Any:
    """A value as it would stand in a file: durations as text, keys in camel case, secrets left out."""
    if isinstance(value, msgspec.Struct):
        found = {f.encode_name: getattr(value, f.name) for f in msgspec.structs.fields(type(value))}
        return {key: HIDDEN if key in SECRETS and one else _plain(one) for key, one in found.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return format_duration(value) if isinstance(value, Duration) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
