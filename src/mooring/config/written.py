"""A configuration as a file that says everything: every default filled in, every plugin at its point.

Read again it gives the same configuration. Plugins that a file names as `package.module:Class` are written by
their own name, so such a file needs them to be installed, or in a folder of policies.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from mooring.config.catalogue import PluginUse
from mooring.config.durations import Duration, format_duration
from mooring.config.load import SchedulerConfig
from mooring.config.plugin_args import OPTIONS
from mooring.config.profiles import ALL, ProfilePlan
from mooring.config.scheduler import API_VERSION, KIND

HIDDEN = "--- REDACTED ---"
SECRETS = ("keyData",)


def document(config: SchedulerConfig, *, secrets: bool = False) -> dict[str, Any]:
    """The configuration as plain data. Secrets are left out unless they are asked for."""
    settings = {
        _camel(field.name): _plain(getattr(config, field.name), secrets)
        for field in msgspec.structs.fields(type(config))
        if field.name not in ("profiles", "remarks", "policies")
    }
    profiles = [_profile(plan, secrets) for plan in config.profiles]
    whole = {"apiVersion": API_VERSION, "kind": KIND, **settings, "profiles": profiles}
    plain: dict[str, Any] = msgspec.to_builtins(whole, enc_hook=str)
    return plain


def as_yaml(config: SchedulerConfig) -> str:
    """The file that `--write-config-to` writes."""
    text: str = yaml.safe_dump(document(config, secrets=True), sort_keys=True)
    return text


def _profile(plan: ProfilePlan, secrets: bool) -> dict[str, Any]:
    points: dict[str, Any] = {
        point: {"enabled": [_use(point, use) for use in uses]} for point, uses in plan.points.items()
    }
    points["multiPoint"] = {
        "enabled": [{"name": name} for name in plan.hooked],
        "disabled": [{"name": ALL}],  # all there is is listed at its points
    }
    shown: dict[str, Any] = {"schedulerName": plan.scheduler_name}
    if plan.percentage_of_nodes_to_score is not None:
        shown["percentageOfNodesToScore"] = plan.percentage_of_nodes_to_score
    args = [{"name": name, "args": _plain(given, secrets)} for name, given in sorted(plan.args.items())]
    args.append({"name": OPTIONS, "args": {"ties": plan.ties, "adaptive": plan.adaptive}})
    return {**shown, "plugins": points, "pluginConfig": args}


def _use(point: str, use: PluginUse) -> dict[str, Any]:
    weighs = point == "score" or use.weight != 1
    return {"name": use.name, "weight": use.weight} if weighs else {"name": use.name}


def _plain(value: Any, secrets: bool) -> Any:
    """A value as it would stand in a file: durations as text, keys in camel case."""
    if isinstance(value, msgspec.Struct):
        found = {f.encode_name: getattr(value, f.name) for f in msgspec.structs.fields(type(value))}
        return {
            key: HIDDEN if key in SECRETS and one and not secrets else _plain(one, secrets)
            for key, one in found.items()
            if one is not None
        }
    if isinstance(value, (tuple, list)):
        return [_plain(one, secrets) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one, secrets) for key, one in value.items()}
    if isinstance(value, Duration):
        return format_duration(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
