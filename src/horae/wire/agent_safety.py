"""Budgets of groups and the switch for all agents to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from ..model.agents.budget import Amounts, amounts_json, limits_json, read_limits
from ..model.agents.usage import to_micros
from ..service.accounts.agent_switch import Switch
from ..service.groups.budgets import BudgetState
from .instants import parse_instant, utc


def budget_json(state: BudgetState) -> dict[str, Any]:
    """Encode the budget of a group today; amounts of `cost` are in US dollars, `left` is null without a limit."""
    return {
        "folder": state.folder,
        "limits": limits_json(state.limits),
        "used": amounts_json(state.used),
        "reserved": amounts_json(state.reserved),
        "left": amounts_json(state.left),
        "day": state.day.isoformat(),
        "until": utc(state.until),
        "zone": state.zone,
    }


def read_budget(data: Mapping[str, Any]) -> BudgetState:
    return BudgetState(
        data["folder"],
        read_limits(data["limits"]),
        _read_amounts(data["used"]),
        _read_amounts(data["reserved"]),
        date.fromisoformat(data["day"]),
        parse_instant(data["until"]),
        data["zone"],
    )


def _read_amounts(data: Mapping[str, Any]) -> Amounts:
    return Amounts(data["tokens"], to_micros(data["cost"]) or 0, data["runs"])


def switch_json(switch: Switch | None, tasks: int | None = None) -> dict[str, Any]:
    """Encode the switch; `tasks` is how many tasks a change of it has paused or resumed."""
    return {
        "stopped": switch is not None,
        "since": None if switch is None else utc(switch.since),
        "by": None if switch is None else switch.by,
        "tasks": tasks,
    }


def read_switch(data: Mapping[str, Any]) -> Switch | None:
    return Switch(parse_instant(data["since"]), data["by"]) if data["stopped"] else None
