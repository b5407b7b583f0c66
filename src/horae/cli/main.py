"""The `horae` command: every other file of this room is loaded only when its command is asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final

import typer
from typer.core import TyperGroup

from .. import __version__
from ..choices import Language
from ..errors import HoraeError
from .command_table import ALIASES, COMMANDS, PANELS
from .fast_start import spare
from .messages.help_language import render_help
from .output.failure import INTERRUPTED, ErrorStyle, choose_language, print_failure, wants_json

# Typer has the mistakes of usage of the library that it carries; this is the root of all of them.
_Mistake: Final[type[Exception]] = typer.BadParameter.__mro__[2]


class LazyCommands(TyperGroup):
    """Commands by name, from the table of contents; `horae --help` reads only that."""

    def get_params(self, ctx: Any) -> Any:
        return spare(super().get_params(ctx))

    def get_help(self, ctx: Any) -> str:
        return render_help(self, ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        del ctx
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in self.commands and name in COMMANDS:
            self._load(COMMANDS[name].module)
        return self.commands.get(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except _Mistake as mistake:
            _suggest(mistake, args)
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        del ctx
        language = choose_language(sys.argv[1:])
        widest = max(map(len, COMMANDS))
        for title, panel in PANELS:
            with formatter.section(title.in_language(language)):
                formatter.write_dl(
                    [(name.ljust(widest), each.does.in_language(language)) for name, each in panel.items()]
                )

    def _load(self, module: str) -> None:
        family = new_app()
        loaded = import_module(f".{module}", __package__)
        loaded.register(family)
        self.commands.update(typer.main.get_group(family).commands)


def _suggest(mistake: Exception, args: list[str]) -> None:
    from difflib import get_close_matches  # noqa: PLC0415 - only for what was mistyped

    near = get_close_matches(args[0], COMMANDS, 1) if args else []
    if near and "Did you mean" not in str(mistake):
        mistake.message = f"{getattr(mistake, 'message', mistake)} Did you mean '{near[0]}'?"  # type: ignore[attr-defined]


def new_app(**settings: Any) -> typer.Typer:
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **settings)


app = new_app(
    name="horae",
    cls=LazyCommands,
    help="A durable, precise scheduler for AI agents and services.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"horae {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
    store: str | None = typer.Option(None, "--store", metavar="URL", help="Which store, for any command."),
    server: str | None = typer.Option(None, "--server", metavar="URL", help="Which server, for any command."),
    lang: Language | None = typer.Option(None, "--lang", metavar="en|zh", help="Language of the answers."),
) -> None:
    del version, store, server, lang


def main() -> None:
    """Every failure ends here: a sentence, a place, a hint, and an exit code that says what kind it was."""
    arguments = _plainly(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no Chinese is no reason to crash
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=arguments, prog_name="horae", standalone_mode=False)
        sys.stdout.flush()
    except (HoraeError, _Mistake, OSError, KeyboardInterrupt, typer.Abort) as error:
        return print_failure(error, ErrorStyle(choose_language(arguments), wants_json(arguments), tuple(arguments)))
    except SystemExit as ending:
        if not isinstance(ending.__context__, BrokenPipeError):
            raise
        # Typer ends with 1 when nobody reads any more; what that means is said in one place.
        return print_failure(ending.__context__, ErrorStyle(choose_language(arguments), as_json=False))
    if code == INTERRUPTED:  # typer's own word for Ctrl-C
        return print_failure(KeyboardInterrupt(), ErrorStyle(choose_language(arguments), wants_json(arguments)))
    return code if isinstance(code, int) else 0


def _plainly(arguments: list[str]) -> list[str]:
    """`horae next "-1 * * * *"` is a schedule (and a wrong one), not an option called -1."""
    if not arguments or arguments[0] not in ("next", "explain", "add"):
        return arguments
    before = ["", *arguments]
    return [
        each if flag.startswith("-") else _not_an_option(each) for flag, each in zip(before, arguments, strict=False)
    ]


def _not_an_option(argument: str) -> str:
    dashed = argument.startswith("-") and not argument.startswith("--")
    return f" {argument}" if dashed and (" " in argument or argument[1:2].isdigit()) else argument
