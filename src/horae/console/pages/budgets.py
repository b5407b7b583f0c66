"""Budgets of groups: bars of what is used, reserved and left today, and a form for the limits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...errors import HoraeError
from ...model.agents.budget import BUDGET_NAMES, UNLIMITED, BudgetName, format_amount, parse_budget
from ...model.agents.usage import MICROS
from ...service.groups.budgets import BudgetState
from ..page import FORM_ERRORS, PageRequest, form, form_problem, form_status, page

GROUPS: Final = 50
_WIDTH: Final = 100.0


class BudgetBar(NamedTuple):
    """One limit as a bar; `used` and `reserved` are parts of 100. Without a limit there is no bar."""

    name: BudgetName
    used_text: str
    reserved_text: str
    limit_text: str | None
    left_text: str | None
    used: float
    reserved: float
    value: str
    """The limit as the form takes it."""


class BudgetRow(NamedTuple):
    state: BudgetState
    name: str
    bars: list[BudgetBar]


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    principal = request.viewer.principal
    groups = await request.service.groups.page(principal, request.request.query_params.get("after") or None, GROUPS)
    rows = [
        _row(
            request, await request.service.budgets.get(principal, each.folder), each.name, is_refused=error is not None
        )
        for each in groups.items
    ]
    data = {"page": "approvals", "rows": rows, "after": groups.after, **form_problem(request, error)}
    return request.render("budgets.html", data, form_status(error))


async def save(request: PageRequest) -> Response:
    """Set the limits of a group; an empty field removes one."""
    folder = request.form.text("folder")
    try:
        texts = tuple(f"{name}={request.form.text(name) or UNLIMITED}" for name in BUDGET_NAMES)
        await request.service.budgets.put(request.viewer.principal, folder, parse_budget(texts))
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.back("/budgets", request.notice("budget_saved", folder=folder))


def _row(request: PageRequest, state: BudgetState, name: str, *, is_refused: bool) -> BudgetRow:
    is_given = is_refused and request.form.text("folder") == state.folder
    bars = [
        _bar(state, place, each, request.form.text(each) if is_given else None)
        for place, each in enumerate(BUDGET_NAMES)
    ]
    return BudgetRow(state, name, bars)


def _bar(state: BudgetState, place: int, name: BudgetName, given: str | None) -> BudgetBar:
    limit, used, reserved, left = (each[place] for each in (state.limits, state.used, state.reserved, state.left))
    used_part = 0.0 if not limit else min(_WIDTH, _WIDTH * (used or 0) / limit)
    reserved_part = 0.0 if not limit else min(_WIDTH - used_part, _WIDTH * (reserved or 0) / limit)
    value: Any = "" if limit is None else limit / MICROS if name == "cost" else limit
    return BudgetBar(
        name,
        format_amount(name, used or 0),
        format_amount(name, reserved or 0),
        None if limit is None else format_amount(name, limit),
        None if left is None else format_amount(name, left),
        used_part,
        reserved_part,
        str(value) if given is None else given,
    )


ROUTES: Final = (page("/budgets", show), form("/budgets/save", save))
