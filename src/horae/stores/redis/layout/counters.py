"""Counters by hour, for each owner and for all owners: fields of one hash per owner, added up by the commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from ....model.accounts.system_owner import EVERY_SYSTEM_OWNER
from ....model.counts import (
    ALL_OWNERS,
    NO_HOUR,
    OUTCOME_PREFIX,
    OUTCOME_RETAINED_HOURS,
    RETAINED_HOURS,
    Counts,
    hour_of,
    total_owner,
)
from ..transactions.runner import RedisTransactions
from ..transactions.transaction import Transaction
from .keys import counter_field


def add_counts(transaction: Transaction, deltas: Mapping[tuple[str, int, str], int]) -> None:
    """Add deltas by owner, hour and name, to the counters of the owner and to those of all."""
    keys = transaction.keys
    totals: Counter[tuple[str, int, str]] = Counter()
    for (owner, hour, name), number in deltas.items():
        totals[owner, hour, name] += number
        totals[total_owner(owner), hour, name] += number
    for owner in sorted({owner for (owner, _, _), number in totals.items() if number}):
        transaction.call("ZADD", keys.counter_owners, 0, owner)
    for (owner, hour, name), number in totals.items():
        if number:
            transaction.call("HINCRBY", keys.counters(owner), counter_field(hour, name), number)


def parse_counts(fields: Mapping[str, str]) -> Counts:
    """Return the counters of one owner that are not zero."""
    return {_parse_field(field): int(number) for field, number in fields.items() if int(number)}


def _parse_field(field: str) -> tuple[int, str]:
    hour, _, name = field.partition(":")
    return int(hour), name


async def newest_hour(database: RedisTransactions, now: datetime) -> int:
    """Return the hour from which the retention counts back: the newest stored one, or the current one if that is earlier."""
    totals = [database.keys.counters(owner) for owner in (ALL_OWNERS, EVERY_SYSTEM_OWNER)]
    answers = await database.client.call_all([("HKEYS", key) for key in totals])
    newest = max((_parse_field(field)[0] for fields in answers for field in fields), default=NO_HOUR)
    return min(newest, hour_of(now))


def retained_counts(counts: Counts, this_hour: int) -> Counts:
    return {key: number for key, number in counts.items() if not is_old(*key, this_hour)}


def old_fields(fields: Iterable[str], this_hour: int) -> list[str]:
    """Return the fields whose counters are beyond their retention."""
    return [field for field in fields if is_old(*_parse_field(field), this_hour)]


def is_old(hour: int, name: str, this_hour: int) -> bool:
    """Whether a counter is beyond its retention; state counters are current numbers and have none."""
    retained = OUTCOME_RETAINED_HOURS if name.startswith(OUTCOME_PREFIX) else RETAINED_HOURS
    return NO_HOUR < hour <= this_hour - retained
