"""Horae and its peers, each called in its cheapest correct way."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

import horae
from bench.instants import ZONE
from bench.measure import Contender
from horae.schedule import Past, Schedule, next  # noqa: A004 - the product's own question


def horae_next(value: Schedule, instants: Sequence[datetime]) -> Contender:
    past = Past(anchor=instants[0])
    return Contender(lambda moments: [next(value, each, past) for each in moments], instants)


def horae_next_local(value: Schedule, instants: Sequence[datetime]) -> Contender:
    """The same with the peers' datetimes, in and out: what it costs to keep UTC out of sight."""
    past, zone = Past(anchor=instants[0]), ZoneInfo(ZONE)

    def ask(moments: Sequence[datetime]) -> list[datetime | None]:
        found = (next(value, each, past) for each in moments)
        return [each and each.astimezone(zone) for each in found]

    return Contender(ask, local(instants))


def horae_preview(schedule: Schedule | str, instants: Sequence[datetime]) -> Contender:
    """From a value or from text."""
    preview = horae.preview
    return Contender(
        lambda moments: [preview(schedule, zone=ZONE, after=each, limit=1)[0] for each in moments], instants
    )


def cronsim_reused(text: str, instants: Sequence[datetime]) -> Contender:
    """CronSim has no method to start anew: its `dt` is set to what its own constructor would have made of the question."""
    moments = local(instants)
    simulator = CronSim(text, moments[0])

    def ask(questions: Sequence[datetime]) -> list[datetime | None]:
        found: list[datetime | None] = []
        for each in questions:
            simulator.dt = each
            found.append(builtins.next(simulator))
        return found

    return Contender(ask, [CronSim(text, each).dt for each in moments])


def cronsim_constructed(text: str, instants: Sequence[datetime]) -> Contender:
    following = builtins.next
    return Contender(lambda moments: [following(CronSim(text, each)) for each in moments], local(instants))


def croniter_reused(text: str, instants: Sequence[datetime]) -> Contender:
    moments = local(instants)
    get_next = croniter(text, moments[0]).get_next
    return Contender(lambda questions: [get_next(datetime, start_time=each) for each in questions], moments)


def croniter_constructed(text: str, instants: Sequence[datetime]) -> Contender:
    return Contender(lambda moments: [croniter(text, each).get_next(datetime) for each in moments], local(instants))


def local(instants: Sequence[datetime]) -> list[datetime]:
    zone = ZoneInfo(ZONE)
    return [each.astimezone(zone) for each in instants]


def differences(one: Contender, other: Contender) -> int:
    """How many of the answers differ, as instants. Asking also warms both up."""
    return sum(
        mine is None or theirs is None or mine.astimezone(UTC) != theirs.astimezone(UTC)
        for mine, theirs in zip(one.ask(one.questions), other.ask(other.questions), strict=True)
    )
