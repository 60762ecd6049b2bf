"""`mooring`: finds the command and runs it; turns what people got wrong into one clear message.

Exit codes: 0 done, 1 the answer is no, 2 bad usage or input.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version

import click

from mooring import logs
from mooring.errors import InputError, MooringError, PolicyHangs, did_you_mean

COMMANDS = {
    "run": "schedule a real cluster",
    "simulate": "run manifests on the embedded cluster and report",
    "replay": "play a recording again, and tell where decisions differ",
    "check": "find mistakes in a configuration or a policy",
    "bench": "engine benchmarks, one table",
}


class Lazy(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"mooring.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Says of a command that is not there which one may be meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = did_you_mean(name, list(COMMANDS)) or f" There are {', '.join(COMMANDS)}."
            ctx.fail(f"No such command '{name}'.{near}".replace('"', "'"))  # as click has it of options
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("mooring"), prog_name="mooring")
@click.option(
    "-v", "--v", "verbosity", type=click.IntRange(0, 10), metavar="LEVEL",
    help="Log to standard error, 0 to 10; with 0, what plugins do wrong. Nothing without.",
)  # fmt: skip
def cli(verbosity: int | None) -> None:
    """Mooring: the Kubernetes scheduler you program in Python."""
    if verbosity is None:
        logs.quiet()
    else:
        logs.configure(verbosity)


def main() -> None:
    before = threading.enumerate()
    try:
        _main()
    except SystemExit as end:
        _leave(before, end.code if isinstance(end.code, int) else 0)
        raise
    _leave(before, 0)


def _leave(before: Sequence[threading.Thread], code: int) -> None:
    """Ends the process even if policies have started threads that do not: Python would wait for them."""
    if all(thread.daemon for thread in threading.enumerate() if thread not in before):
        return
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)


def _main() -> None:
    try:
        cli.main(standalone_mode=False)
    except InputError as error:
        for mistake in error.mistakes:
            click.echo(mistake, err=True)
        sys.exit(2)
    except (MooringError, PolicyHangs) as error:
        click.echo(f"mooring: {error}", err=True)
        sys.exit(2)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; there is nobody to tell


if __name__ == "__main__":
    main()
