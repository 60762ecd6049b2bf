"""The plugin lists and arguments of a profile of an old version, in the words of v1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mooring.config.older.successors import GROUP, LIMITS, PLUGINS, SCORING
from mooring.config.scheduler import API_VERSION

Data = dict[str, Any]
Note = Callable[[str], None]

FIT = "NodeResourcesFit"
BY_DEFAULT = "NodeResourcesLeastAllocated"


def convert_plugins(profile: Data, note: Note, *, scored_apart: bool) -> None:
    """`scored_apart`: NodeResourcesLeastAllocated scored by default, and NodeResourcesFit did not score."""
    plugins = profile.get("plugins")
    scored = _scored_by(plugins)
    if isinstance(plugins, dict):
        _reserve(plugins)
        for point, entries in plugins.items():
            if isinstance(entries, dict):
                _point(point, entries, note, silent=scored_apart and not scored)
    _scoring(profile, scored, note)
    _args(profile, note)


def give_args(profile: Data, name: str, **args: Any) -> None:
    """Adds arguments to those a profile gives a plugin."""
    configs = profile["pluginConfig"] = _list(profile.get("pluginConfig"))
    found = next((each for each in configs if isinstance(each, dict) and each.get("name") == name), None)
    if found is None:
        configs.append(found := {"name": name, "args": {}})
    found["args"] = {**args, **_mapping(found.get("args"))}


def turn_off(profile: Data, point: str, name: str) -> None:
    plugins = profile["plugins"] = _mapping(profile.get("plugins"))
    entries = plugins[point] = _mapping(plugins.get(point))
    entries["disabled"] = [*_list(entries.get("disabled")), {"name": name}]


def _reserve(plugins: Data) -> None:
    """Plugins that unreserve are listed at reserve."""
    old = plugins.pop("unreserve", None)
    for way, entries in _mapping(old).items():
        reserve = plugins["reserve"] = _mapping(plugins.get("reserve"))
        known = _list(reserve.get(way))
        reserve[way] = known + [entry for entry in _list(entries) if entry not in known]


def _scored_by(plugins: Any) -> list[str]:
    """Which of the plugins that became scoring strategies a profile enables."""
    names = [name for point in _mapping(plugins).values() for name in _names(point, "enabled")]
    return [name for name in dict.fromkeys(names) if name in SCORING]


def _point(point: str, entries: Data, note: Note, *, silent: bool) -> None:
    """`silent`: who disables what scored resources by default wants nobody to."""
    names = list(_names(entries, "enabled"))
    if enabled := _list(entries.get("enabled")):
        kept = [one for entry in enabled for one in _successors(entry, point, names, note)]
        entries["enabled"] = [one for number, one in enumerate(kept) if one not in kept[:number]]
    off = _names(entries, "disabled")
    gone = [name for name in off if name in PLUGINS]
    if gone:
        entries["disabled"] = [e for e in entries["disabled"] if _name(e) not in gone]
        if silent and BY_DEFAULT in gone:
            entries["disabled"].append({"name": FIT})
        others = [name for name in gone if name not in SCORING]
        if others:
            note(f"{', '.join(others)} at {point}: nothing to disable any more.")
    for way in [way for way in ("enabled", "disabled") if entries.get(way) == []]:
        del entries[way]


def _successors(entry: Any, point: str, names: list[str], note: Note) -> Iterator[Any]:
    """What takes the place of an enabled entry."""
    name = _name(entry)
    if name in SCORING:
        if FIT not in names:
            yield {**entry, "name": FIT}
    elif name in LIMITS:
        yield {**entry, "name": "NodeVolumeLimits"}
    elif name in PLUGINS:
        note(f'plugin "{name}" at {point} is left out. {PLUGINS[name]}')
    else:
        yield entry


def _scoring(profile: Data, scored: list[str], note: Note) -> None:
    """Plugins that scored resources are a scoring strategy of NodeResourcesFit."""
    given: dict[str, Data] = {}
    configs = _list(profile.get("pluginConfig"))
    for config in list(configs):
        if _name(config) in SCORING:
            given[_name(config)] = _mapping(config.get("args"))
            configs.remove(config)
    if given and not configs:
        del profile["pluginConfig"]
    names = scored or list(given)
    if not names:
        return
    name = names[0]
    if len(names) > 1:
        note(f"{FIT} scores in one way: {SCORING[name]}. {', '.join(names[1:])} is left out.")
    args = given.get(name, {})
    strategy: Data = {"type": SCORING[name]}
    if args.get("resources"):
        strategy["resources"] = args["resources"]
    if args.get("shape"):
        strategy["requestedToCapacityRatio"] = {"shape": args["shape"]}
    give_args(profile, FIT, scoringStrategy=strategy)


def _args(profile: Data, note: Note) -> None:
    configs = profile.get("pluginConfig")
    if not isinstance(configs, list):
        return
    for config in [each for each in configs if _name(each) in PLUGINS]:
        configs.remove(config)
        note(f'args of plugin "{_name(config)}" are left out. {PLUGINS[_name(config)]}')
    for config in configs:
        args = config.get("args") if isinstance(config, dict) else None
        if isinstance(args, dict) and str(args.get("apiVersion")).startswith(GROUP):
            args["apiVersion"] = API_VERSION


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _mapping(found: Any) -> Data:
    return found if isinstance(found, dict) else {}


def _names(entries: Any, way: str) -> Iterator[str]:
    yield from (_name(entry) for entry in _list(_mapping(entries).get(way)))


def _name(entry: Any) -> str:
    return str(entry.get("name", "")) if isinstance(entry, dict) else ""
