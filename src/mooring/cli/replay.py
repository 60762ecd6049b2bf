"""`mooring replay`: plays a recording again and says where decisions differ."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from mooring.app.recording import Player
from mooring.cli.policies import watched
from mooring.cli.values import EXISTING_FILE, EXISTING_FOLDER
from mooring.engine.decisions import Bind, Consult, Decision, Evict, Nominate, Refuse, Wait
from mooring.engine.recording.replay import Difference
from mooring.framework.api.writes import Write

SHOWN = 20


@click.command(epilog="Example: mooring replay run.rec --config candidate.yaml --policies policies/")
@click.argument("file", type=EXISTING_FILE)
@click.option("--config", type=EXISTING_FILE, help="A KubeSchedulerConfiguration, not the recorded one.")
@click.option("--policies", type=EXISTING_FOLDER, help="A folder of Python policies: recordings have none.")
@click.option(
    "--show", type=click.IntRange(0), default=SHOWN, show_default=True, help="Tell so many differences."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(file: Path, config: Path | None, policies: Path | None, show: int, as_json: bool) -> None:
    """Play a recording of `--record` to a fresh engine: the same events at the same times.

    Says where its decisions differ, and ends with 1 if any does. With the configuration of the recording and
    the same policies, none does.
    """
    found: list[Difference] = []
    with watched(policies, "replaying") as update:
        player = Player(
            file, config=config, policies=policies, progress=lambda entries: update(completed=entries)
        )
        for difference in player.differences():
            if len(found) < show:
                found.append(difference)
    so_far = player.so_far
    if as_json:
        result = {
            "entries": so_far.entries,
            "binds": so_far.binds,
            "differences": so_far.differences,
            "cut": player.recording.is_cut,
            "stopped": player.stopped,
            "shown": [_plain(each) for each in found],
        }
        click.echo(msgspec.json.format(msgspec.json.encode(result)).decode())
    else:
        for each in found:
            click.echo(f"entry {each.entry}, {each.event}")
            click.echo(f"  recorded: {told(each.recorded)}")
            click.echo(f"  replayed: {told(each.replayed)}")
        if player.recording.is_cut:
            click.echo("note: the recording was not ended in order: its last second may be missing", err=True)
        if player.stopped:
            click.echo(f"note: the recording ends early: {player.stopped}", err=True)
        click.echo(f"{so_far.entries} entries, {so_far.binds} binds, {so_far.differences} differences")
    sys.exit(1 if so_far.differences else 0)


def _plain(difference: Difference) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(difference)
    return plain


def told(decisions: Sequence[Decision] | None) -> str:
    """Decisions in a line."""
    return "; ".join(map(_told, decisions or ())) or "nothing"


def _told(decision: Decision) -> str:
    match decision:
        case Bind(pod, node):
            return f"bind {pod.key} to {node}"
        case Wait(pod, _, message):
            return f"{pod.key} waits: {message}"
        case Evict(pod, by):
            return f"evict {pod.key}" + (f" for {by}" if by else "")
        case Nominate(pod, node):
            return f"nominate {pod.key} to {node}"
        case Consult(pod, extender, verb):
            return f"ask extender {extender} to {verb} {pod.key}"
        case Write(verb, kind, key):
            return f"{verb} {kind} {key}"
        case Refuse(about, message):
            return f"{about.kind} {about.key}: {message}"
    return f"look up {decision.pod.key}"
