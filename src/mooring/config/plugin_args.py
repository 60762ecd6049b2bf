"""pluginConfig: the arguments of every plugin of a profile, and Mooring's own options.

Mooring's options are an entry named "Mooring". kube-scheduler ignores configuration of plugins that
are not enabled, so one file serves both schedulers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import msgspec

from mooring.config.document import Origin, Path
from mooring.config.durations import Duration
from mooring.config.entries import Entries
from mooring.config.older.successors import PLUGINS, removed_plugin
from mooring.config.scheduler import API_VERSION, ConfigStruct, PluginConfigEntry
from mooring.config.struct_check import convert
from mooring.errors import did_you_mean

OPTIONS = "Mooring"
TIES = ("Random", "First")


class MooringArgs(ConfigStruct, frozen=True):
    """`ties`: how equally good nodes are told apart. `adaptive`: look at fewer nodes in big clusters.
    `policy_budget`: how long a policy may take for one attempt at a pod. `over_budget`: whether the pod goes
    on without the score of one that takes longer (`skip`), or not (`fail`)."""

    ties: str = "Random"
    adaptive: bool = False
    policy_budget: Duration = Duration(1)
    over_budget: Literal["skip", "fail"] = "skip"


class ArgsReader:
    """Reads the pluginConfig of one profile."""

    def __init__(self, entries: Entries, profile: Path) -> None:
        self.options = MooringArgs()
        self._entries = entries
        self._findings = entries.findings
        self._catalogue = entries.catalogue
        self._profile = tuple(profile)
        self._given: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}

    def read(self, configs: Sequence[PluginConfigEntry], enabled: Sequence[str]) -> dict[str, object]:
        """The arguments of every plugin that is enabled or breaks ties, and takes any."""
        for index, config in enumerate(configs):
            self._entry((*self._profile, "pluginConfig", index), config, enabled)
        names = dict.fromkeys(enabled)
        if self.options.ties not in TIES:
            names[self.options.ties] = None
        args = {name: self._given.get(name, self._default(name)) for name in names}
        return {name: value for name, value in args.items() if value is not None}

    def _entry(self, path: Path, config: PluginConfigEntry, enabled: Sequence[str]) -> None:
        name = self._entries.known_as(config.name)
        at = (*path, "name")
        if not name:
            self._findings.note(at, "pluginConfig needs the name of a plugin.")
        elif name in self._given:
            self._findings.note(at, f"repeated config for plugin {name}.")
        elif name in PLUGINS and name not in self._catalogue.names():
            self._findings.note(at, removed_plugin(name))
        else:
            self._given[name] = None
            self._known((*path, "args"), at, name, enabled)

    def _known(self, path: Path, at: Path, name: str, enabled: Sequence[str]) -> None:
        if name == OPTIONS:
            self._options(path)
        elif name in self._catalogue.names():
            self.origins[name] = Origin(self._findings.document, path)
            self._given[name] = self._args(path, name, self._catalogue.args_type(name))
            if name not in enabled:
                self._findings.remark(at, f'config for plugin "{name}" is ignored: it is not enabled.')
        else:
            near = did_you_mean(name, self._catalogue.names())
            self._findings.remark(
                at, f'config for plugin "{name}" is ignored: there is no such plugin.{near}'
            )

    def _args(self, path: Path, name: str, args_type: type | None) -> Any:
        """The Struct of a plugin's arguments; None with mistakes, and for a plugin that takes none."""
        header = {"apiVersion": API_VERSION, "kind": f"{name}Args"}
        self._check_header(path, header)
        if args_type is None:
            self._check_none(path, name, header)
            return None
        value, mistakes = convert(self._findings.document, path, args_type, allowed=header)
        self._findings.mistakes += mistakes
        self._remark_in_vain(path, name, value)
        return value

    def _remark_in_vain(self, path: Path, name: str, args: Any) -> None:
        """Tells of fields that say something and change nothing."""
        for field in msgspec.structs.fields(args) if args is not None else ():
            why = getattr(args, "no_effect", {}).get(field.encode_name)
            if why and getattr(args, field.name) != field.default:
                at = (*path, field.encode_name)
                self._findings.remark(at, f"{field.encode_name} of {name} has no effect: {why}.")

    def _check_header(self, path: Path, header: dict[str, str]) -> None:
        """Arguments may say what they are, as Kubernetes writes them; then it must be right."""
        ours = self._findings.document.at(("apiVersion",))  # an old file is told once that it is
        for key, word in header.items():
            given = self._findings.document.at((*path, key))
            if given not in (None, word, ours):
                self._findings.field((*path, key), f'expected "{word}", got "{given}"')

    def _check_none(self, path: Path, name: str, header: Collection[str]) -> None:
        data = self._findings.document.at(path)
        if data and (not isinstance(data, dict) or set(data) - set(header)):
            self._findings.note(path, f'plugin "{name}" takes no args.')

    def _default(self, name: str) -> object:
        args_type = self._catalogue.args_type(name)
        if args_type is None or name in self._given:
            return None
        try:
            return msgspec.convert({}, args_type)
        except (ValueError, TypeError) as error:
            what = str(error).replace("`", '"')
            self._findings.note((*self._profile, "plugins"), f'plugin "{name}" needs a pluginConfig: {what}.')
        return None

    def _options(self, path: Path) -> None:
        options = self._args(path, OPTIONS, MooringArgs)
        if options is None:
            return
        if options.ties in TIES or self._is_scorer((*path, "ties"), options.ties):
            ties = self._entries.known_as(options.ties)
            self.options = msgspec.structs.replace(options, ties=ties)

    def _is_scorer(self, path: Path, name: str) -> bool:
        found = self._entries.resolve(path, name) if ":" in name else name
        if found is None:
            return False
        names = self._catalogue.names()
        scorers = [each for each in names if "score" in self._catalogue.points(each)]
        if found not in scorers:
            near = did_you_mean(found, [*TIES, *scorers])
            what = f'expected "Random", "First" or the name of a score plugin, got "{name}".{near}'
            self._findings.note(path, what)
        return found in scorers
