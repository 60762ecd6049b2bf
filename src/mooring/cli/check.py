"""`mooring check`: finds mistakes in configurations and policies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from mooring.app.apart import Found, check_apart
from mooring.app.making import make_engine, read_config, read_text
from mooring.cli.values import DURATION, EXISTING_FILE, EXISTING_FOLDER, GATES
from mooring.config.feature_gates import FeatureGates
from mooring.config.load import load_config
from mooring.config.older.conversion import as_v1
from mooring.errors import InputError, Mistake
from mooring.framework.loading.discovery import import_built_in, plugins_in_file
from mooring.plugins.catalogue import add_policies, make_registry


@click.command(epilog="Example: mooring check scheduler.yaml policies/spot.py")
@click.argument("files", nargs=-1, required=True, type=EXISTING_FILE, metavar="FILE...")
@click.option(
    "--policies", type=EXISTING_FOLDER, help="A folder of Python policies the configurations may name."
)
@click.option("--feature-gates", "gates", type=GATES, help="Feature gates, such as A=true,B=false.")
@click.option("--timeout", "limit_s", type=DURATION, default="20s", show_default=True, help="For each file.")
@click.option("--convert", is_flag=True, help="Print the configuration as v1 instead, with notes.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of {place, what} objects.")
def command(
    files: Sequence[Path],
    policies: Path | None,
    gates: FeatureGates | None,
    limit_s: float,
    convert: bool,
    as_json: bool,
) -> None:
    """Find mistakes in KubeSchedulerConfiguration files and in policies (.py).

    Prints every mistake as file:line:column: what, and exits with 1 if there is any. Policies are loaded in a
    process of their own, where they can neither hang nor end this one.

    --convert takes one configuration of any version, or a scheduling Policy, and prints it as v1.
    """
    if convert and (as_json or len(files) > 1):
        raise click.UsageError("--convert takes one file, and prints it as YAML.")
    import_built_in()
    texts = {file: _converted(file) for file in files} if convert else {}
    found = check_apart(
        files,
        lambda file: _found(file, policies, gates, texts.get(file)),
        limit_s=limit_s,
        near=(policies,) if policies else (),
    )
    for remark in dict.fromkeys(remark for each in found for remark in each.remarks):
        click.echo(f"note: {remark}", err=True)
    mistakes = [mistake for each in found for mistake in each.mistakes]
    if as_json:
        click.echo(msgspec.json.encode([mistake._asdict() for mistake in mistakes]))
    else:
        for mistake in mistakes:
            click.echo(mistake, err=convert)
        if not mistakes and not convert:
            click.echo(f"{len(files)} file{'s' if len(files) > 1 else ''}, no mistakes")
    sys.exit(1 if mistakes else 0)


def _converted(file: Path) -> str:
    """Prints a configuration as v1, and tells what changed."""
    text, notes = as_v1(read_text(file), str(file))
    click.echo(text, nl=False)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return text


def _found(file: Path, policies: Path | None, gates: FeatureGates | None, converted: str | None) -> Found:
    found = Found()
    try:
        registry = make_registry(policies)
        if file.suffix == ".py":
            add_policies(registry, plugins_in_file(file))
        else:
            config = (
                read_config(file, registry)
                if converted is None
                else load_config(converted, f"{file} (converted)", registry)
            )
            found.remarks += [*map(str, config.remarks), *(f"{file}: {where}" for where in config.policies)]
            make_engine(config, registry, gates=gates)
    except InputError as error:
        found.mistakes += [
            mistake if mistake.place else Mistake(str(file), mistake.what) for mistake in error.mistakes
        ]
    return found
