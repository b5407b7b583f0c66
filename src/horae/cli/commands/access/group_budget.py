"""Option `--budget` of `horae group`, and the rows of a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from ...messages import group_messages as words

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....service.groups.budgets import BudgetState
    from ...output.printer import Printer

budget_option: Final = click.option(
    "--budget",
    multiple=True,
    metavar="NAME=AMOUNT/day",
    help="tokens=200000/day, cost=2.5/day (US dollars), runs=50/day; repeatable, 'none' removes a limit.",
)


def show_budget(out: Printer, row: Callable[..., Any], state: BudgetState, zone: str) -> bool:
    """Print a row for each limit: used and reserved; return whether there is one."""
    from ....model.agents.budget import BUDGET_NAMES, format_amount  # noqa: PLC0415 - `--help` does without
    from ...output.formats import full_time  # noqa: PLC0415

    label, has_limit = out.translate(words.BUDGET), False
    for place, name in enumerate(BUDGET_NAMES):
        limit = state.limits[place]
        if limit is None:
            continue
        amounts = {
            "used": format_amount(name, state.used[place]),
            "reserved": format_amount(name, state.reserved[place]),
            "limit": format_amount(name, limit),
            "name": words.BUDGET_NAMES[name],
        }
        row(label, out.translate(words.BUDGET_USE, **amounts))
        label, has_limit = "", True
    if has_limit:
        row("", out.translate(words.BUDGET_UNTIL, until=full_time(state.until, zone, out.language)))
    return has_limit
