"""Click command and group of Horae: every command has the options for store, output and language, and gets a `Printer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from ..choices import Language
from .messages.account_refusals import refuse
from .messages.help_language import render_help
from .output.failure import language_for, wants_json
from .output.printer import Colour, Printer
from .parameters import one_of, type_name
from .session.command_settings import CommandSettings

_INSTANT_ARGUMENTS: Final = ("when", "at", "as_of", "since", "until", "first", "last", "start", "expires")
"""Arguments that hold a schedule or an instant: Chinese text in them makes the answer Chinese."""
_PROGRAM: Final = "program"

_COMMON_OPTIONS: Final = (
    click.Option(
        ["--store"],
        metavar="URL",
        help=(
            "Which store: sqlite:///file.db, postgresql://…, mysql://…, redis://…. Default: HORAE_STORE, horae.toml, "
            "./horae.db where it exists, $XDG_DATA_HOME/horae/horae.db."
        ),
    ),
    click.Option(
        ["--server"],
        metavar="URL",
        help=(
            "A server instead of a store: https://…, or the name of a context. Default: HORAE_SERVER, 'horae login URL'."
        ),
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Answer as JSON."),
    click.Option(["--plain"], is_flag=True, help="Tab separated, stable columns."),
    click.Option(["--quiet", "-q"], is_flag=True, help="Ids only, no notes."),
    click.Option(["--fields"], metavar="A,B", help="Only these fields, as JSON."),
    click.Option(["--lang"], type=one_of(Language), help="Language of the answer."),
    click.Option(
        ["--color", "--colour", "colour"],
        type=one_of(Colour),
        default="auto",
        show_default=True,
        help="When to use colour.",
    ),
)
_CONFIRM_OPTIONS: Final = (
    click.Option(["--yes", "-y"], is_flag=True, help="Answer yes to every question."),
    click.Option(["--no-input"], is_flag=True, help="Ask nothing."),
)


class Command(click.Command):
    """A command whose function gets a `Printer` before its own arguments.

    `asks`: the command may ask for confirmation, so it has `--yes` and `--no-input`. `local_only`: it works on this machine
    and is refused when a server is chosen. `takes_program`: words after `--` are neither options nor arguments; the function
    gets them as `program`.
    """

    def __init__(
        self,
        name: str | None,
        *,
        params: list[click.Parameter] | None = None,
        asks: bool = False,
        local_only: bool = False,
        takes_program: bool = False,
        **settings: Any,
    ) -> None:
        self._common = (*_COMMON_OPTIONS, *(_CONFIRM_OPTIONS if asks else ()))
        self._local_only = local_only
        self._takes_program = takes_program
        super().__init__(name, params=[*(params or ()), *self._common], **settings)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._takes_program and "--" in args:
            place = args.index("--")
            ctx.meta[_PROGRAM] = tuple(args[place + 1 :])
            args = args[:place]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        given = dict(ctx.params)
        out = make_printer(ctx, {each.name: given.pop(each.name) for each in self._common}, given)
        if self._local_only and out.server is not None:
            raise refuse("only_here", command=ctx.command_path, server=out.server)
        if out.fields:
            from .output_fields import check_fields  # noqa: PLC0415 - few commands are called with --fields

            check_fields(_command_words(ctx), out.fields, given)
        if self._takes_program:
            given[_PROGRAM] = ctx.meta.get(_PROGRAM, ())
        assert self.callback is not None  # noqa: S101 - a command is made from a function
        ctx.invoke(self.callback, out, **given)
        out.note_password()

    # --- help ---

    def get_help(self, ctx: click.Context) -> str:
        for each in self.params:
            if isinstance(each, click.Option) and not each.is_flag and each.metavar is None:
                each.metavar = type_name(each)
        return render_help(self, ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        del ctx
        return [self.options_metavar or "", *(_usage_word(each) for each in self._arguments())]

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        rows = [(f"{each.human_readable_name} {type_name(each)}", _argument_text(each)) for each in self._arguments()]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)

    def _arguments(self) -> Iterator[click.Argument]:
        return (each for each in self.params if isinstance(each, click.Argument))


def _usage_word(argument: click.Argument) -> str:
    name = argument.human_readable_name
    word = f"{{{name}}}" if argument.required else f"[{name}]"
    return f"{word}..." if argument.nargs == -1 else word


def _argument_text(argument: click.Argument) -> str:
    notes = ["[required]"] if argument.required else []
    if isinstance(argument.default, int):
        notes = [f"[default: {argument.default}]"]
    return " ".join([*([argument.help] if argument.help else []), *notes])


class CommandGroup(click.Group):
    """Commands of one noun, as in `horae token make`; `--lang` is also read before the name of the command, for `--help`."""

    command_class = Command

    def __init__(self, name: str, *, help: str) -> None:  # noqa: A002 - the name that Click gives it
        super().__init__(name, help=help, no_args_is_help=True)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of definition."""
        del ctx
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _without_language(args))

    def get_help(self, ctx: click.Context) -> str:
        return render_help(self, ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        from .output.help_format import command_rows  # noqa: PLC0415 - only help needs it

        with formatter.section("Commands"):
            formatter.write_dl(command_rows(list(self.commands.items())))


def _without_language(args: Sequence[str]) -> list[str]:
    """Only up to the name of a command: the command has the option itself."""
    kept: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--lang" and rest:
            rest.pop(0)
        elif not option.startswith("--lang="):
            kept.append(option)
    return kept + rest


def make_printer(ctx: click.Context, common: dict[str, Any], given: dict[str, Any]) -> Printer:
    """Build the `Printer` from the common options, those before the command, and the language of the typed schedule."""
    root = ctx.find_root().params
    fields = tuple(part.strip() for part in (common["fields"] or "").split(",") if part.strip())
    settings = ctx.find_object(CommandSettings) or CommandSettings()
    return Printer(
        language=common["lang"] or root.get("lang") or language_for(" ".join(_texts(_schedule_texts(given)))),
        store=root.get("store") if common["store"] is None else common["store"],
        server=root.get("server") if common["server"] is None else common["server"],
        owner=given.get("owner"),
        named_owner=given.get("owner") or given.get("owner_name"),
        family=next(iter(ctx.command_path.split()[1:]), ""),
        json=common["as_json"] or bool(fields) or wants_json([], settings),
        plain=common["plain"],
        quiet=common["quiet"],
        fields=fields,
        colour=common["colour"],
        yes=common.get("yes", False),
        silent=common.get("no_input", False),
        command_settings=settings,
    )


def _command_words(ctx: click.Context) -> str:
    """`secret ls` of `horae secret ls`; for an alias, the command that it stands for."""
    names: list[str] = []
    here = ctx
    while here.parent is not None:
        names.insert(0, here.command.name or "")
        here = here.parent
    return " ".join(names)


def _schedule_texts(given: dict[str, Any]) -> list[Any]:
    """The schedules and instants among the arguments. `text` is a schedule of `next`, and part of a name elsewhere."""
    texts = [given["text"]] if isinstance(given.get("text"), tuple) else []
    return [*texts, *(given[name] for name in _INSTANT_ARGUMENTS if name in given)]


def _texts(values: Any) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, tuple):
            found += _texts(value)
    return found
