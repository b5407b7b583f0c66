"""What every command has in common: the options that choose a store and an output, and the object that obeys them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias

import typer
from typer.core import TyperCommand

from ..choices import Language
from .fast_start import spare
from .messages.account_refusals import refuse
from .messages.help_language import render_help
from .output.failure import language_for, wants_json
from .output.printer import Colour, Printer

P = ParamSpec("P")
OptionGroup: TypeAlias = dict[str, tuple[Any, Any]]
"""Options that belong together, by name: the type of each, and what typer is to know of it."""
Groups: TypeAlias = dict[str, OptionGroup]
Said: TypeAlias = dict[str, Any]
"""What was said by the options of a group."""
BEHIND: Final = "behind"
_MOMENTS: Final = ("when", "at", "as_of", "since", "until", "first", "last", "start", "expires")
"""Arguments that say when: whoever writes them in Chinese is answered in Chinese."""
_ONLY_HERE: Final = frozenset({"up", "worker", "mcp", "move", "install", "uninstall", "rotate-key"})
"""What is done on this very machine: a server cannot be told to."""

_STORE: Final = typer.Option(
    None,
    "--store",
    metavar="URL",
    help=(
        "Which store: sqlite:///file.db, postgresql://…, mysql://…. Default: HORAE_STORE, horae.toml, "
        "./horae.db where it exists, $XDG_DATA_HOME/horae/horae.db."
    ),
)
_SERVER: Final = typer.Option(
    None,
    "--server",
    metavar="URL",
    help="A server instead of a store: https://…, or the name of a context. Default: HORAE_SERVER, 'horae login URL'.",
)
_EVERYWHERE: Final[OptionGroup] = {
    "store": (str | None, _STORE),
    "server": (str | None, _SERVER),
    "as_json": (bool, typer.Option(False, "--json", help="Answer as JSON.")),
    "plain": (bool, typer.Option(False, "--plain", help="Tab separated, stable columns.")),
    "quiet": (bool, typer.Option(False, "--quiet", "-q", help="Ids only, no notes.")),
    "fields": (str | None, typer.Option(None, "--fields", metavar="A,B", help="Only these fields, as JSON.")),
    "lang": (Language | None, typer.Option(None, "--lang", help="Language of the answer.")),
    "colour": (Colour, typer.Option("auto", "--color", "--colour", help="When to use colour.")),
}
_ASKING: Final[OptionGroup] = {
    "yes": (bool, typer.Option(False, "--yes", "-y", help="Yes to every question.")),
    "no_input": (bool, typer.Option(False, "--no-input", help="Ask nothing.")),
}


def command(
    app: typer.Typer, name: str, *, asks: bool = False, groups: Groups | None = None, **settings: Any
) -> Callable[[Callable[Concatenate[Printer, P], None]], Callable[Concatenate[Printer, P], None]]:
    """Register a command whose first argument is its `Printer`; the options of that are added to its own.

    `asks`: it may have questions, so `--yes` and `--no-input` are options too. An argument that is named in `groups` gets
    what was said by all options of that group, as a dictionary; one called `behind`, the words that stood behind `--`.
    """
    common = _EVERYWHERE | (_ASKING if asks else {})
    shared = groups or {}

    def register(function: Callable[Concatenate[Printer, P], None]) -> Callable[Concatenate[Printer, P], None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def call(ctx: typer.Context, **given: Any) -> None:
            out = _out(ctx, {each: given.pop(each) for each in common}, given)
            if name in _ONLY_HERE and out.server is not None:
                raise refuse("only_here", command=ctx.command_path, server=out.server)
            if out.fields:
                from .answer_fields import check_fields  # noqa: PLC0415 - few commands are called with --fields

                check_fields(_words(ctx), out.fields, given)
            for group, options in shared.items():
                given[group] = {each: given.pop(each) for each in options}
            if any(each.name == BEHIND for each in own):
                given[BEHIND] = tuple(ctx.meta.get(BEHIND, ()))
            do: Callable[..., None] = function
            do(out, **given)
            out.note_password()

        call.__doc__ = function.__doc__
        _describe(call, _parameters(own, shared, common))
        splits = any(each.name == BEHIND for each in own)
        app.command(name, cls=SplitOptions if splits else Quick, **settings)(call)
        return function

    return register


class Quick(TyperCommand):
    """Words behind `--` are arguments, whatever they look like."""

    def get_params(self, ctx: Any) -> Any:
        return spare(super().get_params(ctx))

    def get_help(self, ctx: Any) -> str:
        return render_help(self, ctx)


class SplitOptions(Quick):
    """Words behind `--` are nobody's options and nobody's arguments: they are kept apart for those who want them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta[BEHIND] = args[place + 1 :]
            args = args[:place]
        return super().parse_args(ctx, args)


def _parameters(own: list[inspect.Parameter], groups: Groups, common: OptionGroup) -> list[inspect.Parameter]:
    """The function's own, with those of its groups in their place, and what every command has."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    found = [inspect.Parameter("ctx", keyword, annotation=typer.Context)]
    for each in own:
        if each.name in groups:
            found += _of_group(groups[each.name])
        elif each.name != BEHIND:
            found.append(each.replace(kind=keyword))
    return [*found, *_of_group(common)]


def _of_group(group: OptionGroup) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, keyword, default=each, annotation=kind) for name, (kind, each) in group.items()]


def _describe(call: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Typer reads a signature: this is the one that it is to see."""
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect looks for it
    call.__annotations__ = {each.name: each.annotation for each in parameters}


def _out(ctx: typer.Context, chosen: dict[str, Any], given: dict[str, Any]) -> Printer:
    said = " ".join(_texts(_says_when(given)))
    fields = tuple(part.strip() for part in (chosen["fields"] or "").split(",") if part.strip())
    return Printer(
        language=chosen["lang"] or _root_language(ctx) or language_for(said),
        store=root_store(ctx) if chosen["store"] is None else chosen["store"],
        server=_root_server(ctx) if chosen["server"] is None else chosen["server"],
        owner=given.get("owner"),
        family=_family(ctx),
        json=chosen["as_json"] or bool(fields) or wants_json([]),
        plain=chosen["plain"],
        quiet=chosen["quiet"],
        fields=fields,
        colour=chosen["colour"],
        yes=chosen.get("yes", False),
        silent=chosen.get("no_input", False),
    )


def _words(ctx: typer.Context) -> str:
    """`secret ls` of `horae secret ls`; of an alias, the command that it stands for."""
    names: list[str] = []
    here: Any = ctx
    while here.parent is not None:
        names.insert(0, here.command.name)
        here = here.parent
    return " ".join(names)


def _family(ctx: typer.Context) -> str:
    """`secret` of `horae secret ls`."""
    return next(iter(ctx.command_path.split()[1:]), "")


def root_store(ctx: typer.Context) -> str | None:
    """`horae --store URL ls` is as good as `horae ls --store URL`."""
    found = ctx.find_root().params.get("store")
    return found if isinstance(found, str) else None


def _root_server(ctx: typer.Context) -> str | None:
    found = ctx.find_root().params.get("server")
    return found if isinstance(found, str) else None


def _root_language(ctx: typer.Context) -> Language | None:
    found = ctx.find_root().params.get("lang")
    return found if found in ("en", "zh") else None


def _says_when(given: dict[str, Any]) -> list[Any]:
    """The schedules and moments among the arguments. `text` is a schedule of `next`, and part of a name elsewhere."""
    texts = [given["text"]] if isinstance(given.get("text"), list) else []
    return [*texts, *(given[name] for name in _MOMENTS if name in given)]


def _texts(values: Any) -> list[str]:
    """What was typed: the language of that is the language of the answer."""
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _texts(value)
    return found
