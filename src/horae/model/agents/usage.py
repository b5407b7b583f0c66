"""Usage of a run by an agent: tokens, cost and model as the agent reports them, as a value and as a record; pure.

The reports come from an unreviewed program: a value that is no plain number counts as not reported, and sums
are bounded.
"""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ..record import Record, RecordWrite

USAGE_KIND: Final = "agent.usage"
"""Kind of the record; its key is the id of the run."""
USAGE_RETENTION: Final = timedelta(days=400)
"""The record is only read through its run. It outlives the run by far, so that a budget can be settled late."""
MICROS: Final = 1_000_000
"""Millionths of a US dollar: sums of money are whole numbers."""
MAX_TOKENS: Final = 10**12
MAX_COST_MICROS: Final = 10**12
MODEL_CHARACTERS: Final = 100


class RunUsage(NamedTuple):
    """None: no such value is known. `turns` counts the reports of the agent.

    `unpriced` is a model that was used and whose price the settings do not have: the cost is at least the given one.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_micros: int | None = None
    model: str | None = None
    turns: int = 0
    unpriced: str | None = None

    @property
    def tokens(self) -> int | None:
        """Tokens of both directions; None if neither was reported."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    @property
    def cost(self) -> float | None:
        """US dollars."""
        return None if self.cost_micros is None else self.cost_micros / MICROS


NO_USAGE: Final = RunUsage()


def add_report(
    usage: RunUsage,
    *,
    input_tokens: object = None,
    output_tokens: object = None,
    cost: object = None,
    model: object = None,
) -> RunUsage:
    """Return the usage with the report of one more turn; `cost` is in US dollars."""
    return RunUsage(
        _sum(usage.input_tokens, _read_count(input_tokens), MAX_TOKENS),
        _sum(usage.output_tokens, _read_count(output_tokens), MAX_TOKENS),
        _sum(usage.cost_micros, to_micros(cost), MAX_COST_MICROS),
        _read_model(model) or usage.model,
        usage.turns + 1,
        usage.unpriced,
    )


def to_micros(cost: object) -> int | None:
    """Return an amount of US dollars as a whole number of millionths, rounded up; None if it is no amount."""
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < math.inf:
        return None
    # Rounded to a thousandth of a millionth first: 2.1 dollars are not 2,100,001 millionths.
    return MAX_COST_MICROS if cost * MICROS >= MAX_COST_MICROS else math.ceil(round(cost * MICROS, 3))


def usage_record(run_id: str, owner: str, usage: RunUsage, expires: datetime) -> Record:
    body = {name: value for name, value in usage._asdict().items() if value is not None}
    return Record(USAGE_KIND, run_id, owner, json.dumps(body, ensure_ascii=False, separators=(",", ":")), 1, expires)


def usage_from(record: Record) -> RunUsage:
    body: dict[str, Any] = json.loads(record.body)
    return RunUsage(**{name: body[name] for name in RunUsage._fields if name in body})


def usage_write(run_id: str, owner: str, usage: RunUsage, now: datetime, replacing: int | None = None) -> RecordWrite:
    """Return the write that keeps the usage of a run; it commits with a result of the run.

    `replacing` is the number of earlier writes that are committed; None: this is the first one.
    """
    return RecordWrite(usage_record(run_id, owner, usage, now + USAGE_RETENTION), replacing)


def _sum(known: int | None, more: int | None, most: int) -> int | None:
    return known if more is None else min(most, (known or 0) + more)


def _read_count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return min(MAX_TOKENS, value)


def _read_model(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return "".join(each for each in value if each.isprintable())[:MODEL_CHARACTERS] or None
