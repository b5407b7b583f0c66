"""`horae view`: saved views, named queries that `ls --view`, `runs --view` and the console share."""

from __future__ import annotations

from typing import Final, Literal

import click

from ....wire.accounts import view_json
from ...command import CommandGroup
from ...messages import account_messages as words
from ...output.formats import NOTHING
from ...output.printer import Printer
from ...output.table import Fit
from ...parameters import one_of
from ...session.command_session import has_store, run_in_session

ListName = Literal["tasks", "runs"]
_FITS: Final = (Fit(), Fit(wrap=8), Fit(1, wrap=12))
_name_argument: Final = click.argument("view", metavar="NAME", help="The name of a view.")
_list_option: Final = click.option(
    "--list",
    "list_name",
    type=one_of(ListName),
    default="tasks",
    show_default=True,
    help="The list that the view filters.",
)

view_commands: Final = CommandGroup(
    "view", help="Save queries under names, for ls --view, runs --view and the console."
)


@view_commands.command("ls")
@click.option("--list", "list_name", type=one_of(ListName), help="Only views of this list.")
def ls(out: Printer, *, list_name: ListName | None) -> None:
    """List saved views."""
    views = run_in_session(out, lambda app: app.service.views.all(app.principal, list_name)) if has_store(out) else ()
    if out.json:
        out.data([view_json(each) for each in views])
    elif out.quiet:
        out.ids([each.name for each in views])
    elif views:
        rows = [[each.list_name, each.name, each.query or NOTHING] for each in views]
        out.table(out.translate(words.VIEW_TITLES).split("|"), rows, _FITS)
    if not views:
        out.note(words.NO_VIEWS)


@view_commands.command("add")
@_name_argument
@click.argument("query", metavar="QUERY", help="A query, as of ls --query: state:failed,paused label:team=ops.")
@_list_option
def add(out: Printer, *, view: str, query: str, list_name: ListName) -> None:
    """Save a query under a name; an existing view gets the new query."""
    saved = run_in_session(out, lambda app: app.service.views.save(app.principal, list_name, view, query), create=True)
    if out.json:
        out.data(view_json(saved))
    elif out.quiet:
        out.ids([saved.name])
    else:
        command = "ls" if list_name == "tasks" else "runs"
        out.line(("✓ ", out.translate(words.VIEW_SAVED, name=saved.name, command=command)))


@view_commands.command("rm")
@_name_argument
@_list_option
def rm(out: Printer, *, view: str, list_name: ListName) -> None:
    """Remove a saved view; the tasks and runs stay."""
    run_in_session(out, lambda app: app.service.views.remove(app.principal, list_name, view))
    if out.json:
        out.data({"removed": view})
    else:
        out.line(("✓ ", out.translate(words.VIEW_GONE, name=view)))
