"""Commands that belong to one noun: `horae token make`, `horae owner ls`."""

from __future__ import annotations

from typing import Final

import typer

from ..model.page import LARGEST_PAGE

PAGE: Final = 100
LIMIT: Final = typer.Option(PAGE, "--limit", "-n", min=1, max=LARGEST_PAGE, help="So many on a page.")
AFTER: Final = typer.Option(None, "--after", help="Go on after this one; the page before says it.")


def new_family() -> typer.Typer:
    return typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


def limit_said(limit: int) -> int | None:
    """As an option of the next command: what is usual need not be said again."""
    return None if limit == PAGE else limit
