"""Commands that belong to one noun: `horae token make`, `horae owner ls`."""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperGroup

from ..model.page import MAX_PAGE_SIZE
from .messages.help_language import render_help

PAGE: Final = 100
LIMIT: Final = typer.Option(PAGE, "--limit", "-n", min=1, max=MAX_PAGE_SIZE, help="So many on a page.")
AFTER: Final = typer.Option(None, "--after", help="Go on after this one; the page before says it.")


class CommandGroup(TyperGroup):
    """`--lang` is understood before the name of a command too, for the sake of `--help`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _without_language(args))

    def get_help(self, ctx: Any) -> str:
        return render_help(self, ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        from .output.help_format import command_rows  # noqa: PLC0415 - only help needs it

        with formatter.section("Commands"):
            formatter.write_dl(command_rows([(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]))


def _without_language(args: list[str]) -> list[str]:
    """Only up to the name of a command: that one has an option of its own."""
    kept: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--lang" and rest:
            rest.pop(0)
        elif not option.startswith("--lang="):
            kept.append(option)
    return kept + rest


def new_group() -> typer.Typer:
    return typer.Typer(cls=CommandGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=True)


def limit_said(limit: int) -> int | None:
    """As an option of the next command: what is usual need not be said again."""
    return None if limit == PAGE else limit
