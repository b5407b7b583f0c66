"""The `horae` command: one file per family of commands, heavy imports only where they are used."""

from __future__ import annotations

import sys
from io import TextIOWrapper

import typer

from .. import __version__
from ..errors import InvalidSchedule
from . import demo, schedules
from .failure import FAILED, INVALID, show_failure, show_refusal, wanted_language, wants_json

app = typer.Typer(
    name="horae",
    help="A durable, precise scheduler for AI agents and services.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("next")(schedules.next_fires)
app.command("explain")(schedules.explain)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"horae {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    del version


def main() -> None:
    """Every refusal ends here: a sentence, a place, a hint, and exit code 6."""
    arguments = [_not_an_option(each) for each in sys.argv[1:]]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no Chinese is no reason to crash
    try:
        app(args=arguments)
    except InvalidSchedule as refusal:
        show_refusal(refusal, wanted_language(arguments), as_json=wants_json(arguments))
        sys.exit(INVALID)
    except OSError as error:
        show_failure(error)
        sys.exit(FAILED)


def _not_an_option(argument: str) -> str:
    """`horae next "-1 * * * *"` is a schedule (and a wrong one), not an option called -1."""
    return f" {argument}" if argument.startswith("-") and (" " in argument or argument[1:2].isdigit()) else argument
