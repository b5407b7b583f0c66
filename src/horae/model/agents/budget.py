"""Budget of an agent: tokens, money and runs per day of a group or of a task, reserved before a run, settled after it; pure.

The day is that of the group's zone. A live reservation counts against the present day, and a run counts on the day on which
it ends, so that no run escapes the budget by ending after midnight.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...choices import Language
from ...schedule.zones import find_zone
from ..ids import from_microseconds, to_microseconds
from ..record import Record
from ..refusals import refuse
from .usage import MAX_COST_MICROS, MAX_TOKENS, MICROS, RunUsage, to_micros

BUDGET_KIND: Final = "agent.budget"
"""Kind of the record; its key is the folder of a group, or the folder and a task."""
MAX_RUNS: Final = 100_000
BudgetName: TypeAlias = Literal["tokens", "cost", "runs"]
BUDGET_NAMES: Final[tuple[BudgetName, ...]] = ("tokens", "cost", "runs")
UNLIMITED: Final = "none"
"""Value that removes a limit."""
_RECENT: Final = 5
_DAY: Final = 86_400
_SECOND: Final = 1_000_000
_MOST: Final[dict[BudgetName, int]] = {"tokens": MAX_TOKENS, "cost": MAX_COST_MICROS, "runs": MAX_RUNS}
_ASSIGNMENT: Final = re.compile(r"\s*([A-Za-z]+)\s*=\s*([^/\s]+)\s*(/\s*day)?\s*")


class Amounts(NamedTuple):
    """`cost` is in millionths of a US dollar."""

    tokens: int = 0
    cost: int = 0
    runs: int = 0

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(*(one + more for one, more in zip(self, other, strict=True)))


NOTHING: Final = Amounts()
FLOOR: Final = Amounts(1_000, MICROS // 100, 1)
"""Least amounts that a run reserves: 1,000 tokens and 0.01 dollars."""


class BudgetLimits(NamedTuple):
    """Limits per day; None: unlimited. `cost` is in millionths of a US dollar."""

    tokens: int | None = None
    cost: int | None = None
    runs: int | None = None


NO_LIMITS: Final = BudgetLimits()


class Reservation(NamedTuple):
    run: str
    amounts: Amounts


class Budget(NamedTuple):
    """`recent` are the amounts of the last runs, from which the next reservation is estimated. `notice_day` is the day of the last
    notice to the chat that the budget is used up. `version` None: no record yet."""

    key: str
    owner: str
    limits: BudgetLimits = NO_LIMITS
    day: date = date.min
    used: Amounts = NOTHING
    reservations: tuple[Reservation, ...] = ()
    recent: tuple[Amounts, ...] = ()
    notice_day: date | None = None
    version: int | None = None

    @property
    def reserved(self) -> Amounts:
        total = NOTHING
        for each in self.reservations:
            total = total.plus(each.amounts)
        return total


class Shortage(NamedTuple):
    """The limit that a run would exceed; amounts of `cost` are in millionths of a US dollar."""

    name: BudgetName
    used: int
    reserved: int
    limit: int
    needed: int


# --- rules -------------------------------------------------------------------------------------------------------------


def begin_day(budget: Budget, today: date) -> Budget:
    """Return the budget on this day. A clock that was set back, or another zone, does not clear it."""
    return budget._replace(day=today, used=NOTHING) if today > budget.day else budget


def estimate(budget: Budget) -> Amounts:
    """Return what a run reserves: the highest of the last runs or the floor, but never more than a whole limit."""
    highest = [max(column) for column in zip(FLOOR, *budget.recent, strict=True)]
    return Amounts(
        *(most if limit is None else min(most, limit) for most, limit in zip(highest, budget.limits, strict=True))
    )


def reserve(budget: Budget, run: str) -> Budget | Shortage:
    """Return the budget with a reservation for this run, or the limit that leaves no room for it."""
    if any(each.run == run for each in budget.reservations):
        return budget
    needed = estimate(budget)
    shortage = find_shortage(budget, needed)
    return shortage or budget._replace(reservations=(*budget.reservations, Reservation(run, needed)))


def find_shortage(budget: Budget, needed: Amounts) -> Shortage | None:
    """Return the first limit that has no room for these amounts."""
    reserved = budget.reserved
    for place, name in enumerate(BUDGET_NAMES):
        limit = budget.limits[place]
        taken = budget.used[place] + reserved[place]
        if limit is not None and (taken >= limit or taken + needed[place] > limit):
            return Shortage(name, budget.used[place], reserved[place], limit, needed[place])
    return None


def find_overdraft(budget: Budget) -> Shortage | None:
    """Return the first limit that the used and the reserved amounts exceed: a live run has used more than it had reserved."""
    reserved = budget.reserved
    for place, name in enumerate(BUDGET_NAMES):
        limit = budget.limits[place]
        if limit is not None and budget.used[place] + reserved[place] > limit:
            return Shortage(name, budget.used[place], reserved[place], limit, 0)
    return None


def adjust(budget: Budget, run: str, usage: RunUsage) -> Budget:
    """Raise the reservation of a live run to what it has used so far."""
    return budget._replace(
        reservations=tuple(
            each._replace(amounts=Amounts(*map(max, each.amounts, amounts_of(usage)))) if each.run == run else each
            for each in budget.reservations
        )
    )


def settle(budget: Budget, run: str, usage: RunUsage) -> Budget:
    """Replace the reservation of a run by its usage; without a reservation nothing changes, so that a repetition is harmless.

    An amount that is not known is charged as it was reserved: silence saves nothing.
    """
    found = [each for each in budget.reservations if each.run == run]
    if not found:
        return budget
    reported, reserved = amounts_of(usage), found[0].amounts
    charged = Amounts(
        reserved.tokens if usage.tokens is None else reported.tokens,
        max(reserved.cost, reported.cost) if usage.cost_micros is None or usage.unpriced else reported.cost,
        1,
    )
    return budget._replace(
        used=budget.used.plus(charged),
        reservations=tuple(each for each in budget.reservations if each.run != run),
        recent=(*budget.recent, reported)[-_RECENT:],
    )


def release(budget: Budget, run: str, usage: RunUsage) -> Budget:
    """Remove the reservation of a dead run, and charge what it is known to have used."""
    return budget._replace(
        used=budget.used.plus(amounts_of(usage)),
        reservations=tuple(each for each in budget.reservations if each.run != run),
    )


def amounts_of(usage: RunUsage) -> Amounts:
    return Amounts(usage.tokens or 0, usage.cost_micros or 0, 1)


# --- days --------------------------------------------------------------------------------------------------------------


def day_in(zone: str, now: datetime) -> date:
    instant = to_microseconds(now) // _SECOND
    local = instant + find_zone(zone).offset(instant)
    return datetime.fromtimestamp(local, UTC).date()


def end_of_day(zone: str, now: datetime) -> datetime:
    """Return the instant at which the next day of the zone begins."""
    known, instant = find_zone(zone), to_microseconds(now) // _SECOND
    offset = known.offset(instant)
    midnight = (instant + offset) // _DAY * _DAY + _DAY
    # In a gap of the clock no instant shows midnight: the day then begins with the gap's end.
    found = [each for each in known.instants(midnight) if each > instant] or [max(midnight - offset, instant + 1)]
    return from_microseconds(found[0] * _SECOND)


# --- texts -------------------------------------------------------------------------------------------------------------

_NOTES: Final[dict[Language, str]] = {
    "en": "Budget of {whose}, {name} per day: {used} used, {reserved} reserved, {limit} allowed, about {needed} needed. "
    "The next day begins at {until}.",
    "zh": "{whose}的每日预算（{name}）：已用 {used}，预留 {reserved}，上限 {limit}，约需 {needed}。新的一天从 {until} 开始。",
}
_NOTE: Final = re.compile(
    r"Budget of (the task|'([^']*)'), (\w+) per day: (\S+) used, (\S+) reserved, (\S+) allowed, about (\S+) needed\. "
    r"The next day begins at (.+)\."
)
_CHINESE_NAMES: Final = {"tokens": "token 数", "cost": "费用", "runs": "运行次数"}


def describe_shortage(shortage: Shortage, folder: str | None, until: datetime, zone: str) -> str:
    """Return the note of a run that was not started, in English. `folder` None: it is the budget of the task."""
    amounts = (shortage.used, shortage.reserved, shortage.limit, shortage.needed)
    used, reserved, limit, needed = (format_amount(shortage.name, each) for each in amounts)
    return _NOTES["en"].format(
        whose="the task" if folder is None else f"'{folder}'",
        name=shortage.name,
        used=used,
        reserved=reserved,
        limit=limit,
        needed=needed,
        until=f"{_local_text(until, zone)} ({zone})",
    )


def note_in(language: Language, note: str) -> str:
    """Return the note of a run that was not started in a language; any other text is returned as it is."""
    found = _NOTE.fullmatch(note)
    if language == "en" or found is None:
        return note
    _, folder, name, used, reserved, limit, needed, until = found.groups()
    return _NOTES["zh"].format(
        whose="该任务" if folder is None else f"“{folder}”",
        name=_CHINESE_NAMES.get(name, name),
        used=used,
        reserved=reserved,
        limit=limit,
        needed=needed,
        until=until,
    )


def format_amount(name: BudgetName, amount: int) -> str:
    """Return an amount for people: 12,000 or $2.50."""
    if name != "cost":
        return f"{amount:,}"
    text = f"{amount / MICROS:,.6f}".rstrip("0")
    whole, _, digits = text.partition(".")
    return f"${whole}.{digits.ljust(2, '0')}"


def _local_text(instant: datetime, zone: str) -> str:
    seconds = to_microseconds(instant) // _SECOND
    local = datetime.fromtimestamp(seconds + find_zone(zone).offset(seconds), UTC)
    return f"{local:%Y-%m-%d %H:%M}"


# --- limits as callers write them ----------------------------------------------------------------------------------------


def parse_budget(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parse `tokens=200000/day`, `cost=2.5`, `runs=none` into the JSON form of limits."""
    values: dict[str, Any] = {}
    for text in texts:
        found = _ASSIGNMENT.fullmatch(text)
        if found is None:
            raise refuse("bad_budget", value=text)
        name, value = found[1].lower(), found[2].lower()
        values[name] = None if value == UNLIMITED else _read_typed(text, value)
    return values


def _read_typed(text: str, value: str) -> float:
    plain = value.replace("_", "").replace(",", "").removeprefix("$")
    try:
        return int(plain) if plain.isdecimal() else float(plain)
    except ValueError:
        raise refuse("bad_budget", value=text) from None


def read_limits(values: object, before: BudgetLimits = NO_LIMITS) -> BudgetLimits:
    """Read limits in JSON form, `{"tokens": 200000, "cost": 2.5, "runs": null}`; names that are not given stay as they were."""
    if not isinstance(values, Mapping):
        raise refuse("bad_policy", name="budget", value=values, wanted="JSON object")
    limits = before._asdict()
    for name, value in values.items():
        if name not in BUDGET_NAMES:
            raise refuse("bad_choice", name="budget", value=name, allowed=", ".join(BUDGET_NAMES))
        limits[name] = None if value is None else _read_limit(name, value)
    return BudgetLimits(**limits)


def _read_limit(name: BudgetName, value: object) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    limit = to_micros(value) if name == "cost" else value if is_whole else None
    most = _MOST[name]
    if not isinstance(limit, int) or not 0 <= limit < most:
        shown = most // MICROS if name == "cost" else most
        raise refuse("bad_number", name=f"budget.{name}", value=value, least=0, most=shown - 1)
    return limit


def limits_json(limits: BudgetLimits) -> dict[str, float | None]:
    """Return limits in JSON form; `cost` is in US dollars."""
    return amounts_json(limits)


def amounts_json(amounts: Amounts | BudgetLimits) -> dict[str, float | None]:
    cost = amounts.cost
    return {"tokens": amounts.tokens, "cost": None if cost is None else cost / MICROS, "runs": amounts.runs}


# --- as records ----------------------------------------------------------------------------------------------------------

TASK_BUDGET_RETENTION: Final = timedelta(days=7)
"""The state of a task's budget is removed when the task has not run for so long; a group's stays."""


def budget_record(budget: Budget, expires: datetime | None = None) -> Record:
    body = {
        "limits": list(budget.limits),
        "day": budget.day.isoformat(),
        "used": list(budget.used),
        "reservations": [[each.run, list(each.amounts)] for each in budget.reservations],
        "recent": [list(each) for each in budget.recent],
        "told": None if budget.notice_day is None else budget.notice_day.isoformat(),
    }
    return Record(
        BUDGET_KIND, budget.key, budget.owner, json.dumps(body, separators=(",", ":")), budget.version or 1, expires
    )


def budget_from(record: Record) -> Budget:
    body = json.loads(record.body)
    return Budget(
        record.key,
        record.owner,
        BudgetLimits(*body["limits"]),
        date.fromisoformat(body["day"]),
        Amounts(*body["used"]),
        tuple(Reservation(run, Amounts(*amounts)) for run, amounts in body["reservations"]),
        tuple(Amounts(*each) for each in body["recent"]),
        None if body["told"] is None else date.fromisoformat(body["told"]),
        record.version,
    )
