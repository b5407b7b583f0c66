"""The `horae` command: a lazy Click group that imports the module of a command when that command is called."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import get_args

import click

from .. import __version__
from ..choices import Language
from ..errors import HoraeError
from .command_table import ALIASES, COMMANDS, PANELS
from .messages.help_language import render_help
from .output.failure import ErrorStyle, choose_language, print_failure, wants_json


class LazyGroup(click.Group):
    """Commands by name, from `command_table`; `horae --help` reads only that table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in self.commands and name in COMMANDS:
            module, _, attribute = COMMANDS[name].place.partition(":")
            self.add_command(getattr(import_module(f".{module}", __package__), attribute), name)
        return self.commands.get(name)

    def get_help(self, ctx: click.Context) -> str:
        return render_help(self, ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        language = choose_language(sys.argv[1:])
        widest = max(map(len, COMMANDS))
        for title, panel in PANELS:
            with formatter.section(title.in_language(language)):
                formatter.write_dl(
                    [(name.ljust(widest), each.does.in_language(language)) for name, each in panel.items()]
                )


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"horae {__version__}")
        ctx.exit()


@click.group(
    "horae",
    cls=LazyGroup,
    help="A durable, precise scheduler for AI agents and services.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
@click.option("--store", metavar="URL", help="Which store, for any command.")
@click.option("--server", metavar="URL", help="Which server, for any command.")
@click.option("--lang", type=click.Choice(get_args(Language)), metavar="en|zh", help="Language of the answers.")
def app(store: str | None, server: str | None, lang: Language | None) -> None:
    """Options before the command; `make_printer` reads them from the context."""
    del store, server, lang


def main() -> None:
    """Run the command of `sys.argv` and exit; every failure ends as a sentence, a hint and an exit code."""
    arguments = _escape_schedules(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Chinese characters is no reason to crash
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    try:
        with app.make_context("horae", list(arguments)) as ctx:
            app.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        return print_failure(_with_own_sentence(error), _error_style(arguments))
    except EOFError:  # the input ended at a question
        click.echo(err=True)
        return print_failure(click.Abort(), _error_style(arguments))
    except (HoraeError, OSError, KeyboardInterrupt, click.Abort) as error:
        return print_failure(error, _error_style(arguments))
    return 0


def _error_style(arguments: list[str]) -> ErrorStyle:
    return ErrorStyle(choose_language(arguments), wants_json(arguments), tuple(arguments))


def _with_own_sentence(error: click.ClickException) -> click.ClickException:
    """Reword the mistakes whose sentence differs between versions of Click; the Chinese catalogue is keyed by it."""
    if isinstance(error, click.NoSuchOption):
        near = f" (Possible options: {', '.join(sorted(error.possibilities))})" if error.possibilities else ""
        return click.UsageError(f"No such option: {error.option_name}{near}", error.ctx)
    if isinstance(error, click.exceptions.NoSuchCommand):
        return click.UsageError(_no_such_command(error), error.ctx)
    if isinstance(error, click.UsageError) and type(error) is click.UsageError:
        text = re.sub(r"^(Got unexpected extra argument)s? \(", r"\1(s) (", error.message)
        return click.UsageError(text, error.ctx)
    return error


def _no_such_command(error: click.exceptions.NoSuchCommand) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistyped command

    ctx = error.ctx
    known = ctx.command.list_commands(ctx) if ctx is not None and isinstance(ctx.command, click.Group) else []
    near = get_close_matches(error.command_name, known, 1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"No such command '{error.command_name}'.{hint}"


def _escape_schedules(arguments: list[str]) -> list[str]:
    """`horae next "-1 * * * *"` is a schedule (and a wrong one), not an option called -1."""
    if not arguments or arguments[0] not in ("next", "explain", "add"):
        return arguments
    before = ["", *arguments]
    return [each if flag.startswith("-") else _escape_dash(each) for flag, each in zip(before, arguments, strict=False)]


def _escape_dash(argument: str) -> str:
    dashed = argument.startswith("-") and not argument.startswith("--")
    return f" {argument}" if dashed and (" " in argument or argument[1:2].isdigit()) else argument
