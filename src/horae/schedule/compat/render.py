"""Writes a translation back: the original spelling if it still holds, else a new one verified by reading it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ...errors import InvalidSchedule
from ..canonical import format_moment, to_json
from ..refusals import refuse
from ..value import Moment, is_wall
from .translation import Translation

Writer = Callable[[Translation], dict[str, Any]]
Reader = Callable[[Mapping[str, Any]], Translation]


def write_verified(
    system: str, translation: Translation, zone: str | None, spell: Writer, read: Reader
) -> dict[str, Any]:
    """Write a translation with `spell`; refuses a result that does not read back as the same translation."""
    original = translation.original_spelling(system, zone)
    if original is not None:
        return original
    mapping = spell(translation)
    parts = _lost_parts(translation, read(mapping), zone)
    if parts:
        raise refuse_lossy(system, *parts)
    return mapping


def _lost_parts(expected: Translation, actual: Translation, zone: str | None) -> list[str]:
    """Names of the parts that did not survive the round trip; a policy that is not named is left to the dialect."""
    before = to_json(expected.schedule.with_defaults(zone))
    after = to_json(actual.schedule.with_defaults(zone))
    parts = [key for key in (before | after) if before.get(key) != after.get(key)]
    parts += [
        key for key in expected.policies if key not in actual.policies or expected.policies[key] != actual.policies[key]
    ]
    return parts + [key for key in expected.state if expected.state[key] != actual.state.get(key)]


def refuse_lossy(system: str, *parts: str) -> InvalidSchedule:
    return refuse("compat_lost", system=system, parts=", ".join(parts))


def refuse_kind(system: str, translation: Translation, *known: str) -> InvalidSchedule:
    return refuse("compat_no_kind", system=system, kind=translation.schedule.kind, known=", ".join(known))


def format_time(system: str, key: str, moment: Moment) -> str:
    """A wall time or instant as text; refuses a date where the dialect needs a time."""
    if not isinstance(moment, datetime):
        raise refuse_lossy(system, key)
    return format_moment(moment)


def format_instant(system: str, key: str, moment: Moment) -> str:
    """An instant as text; refuses wall time, which would shift when a zone changes its rules."""
    if is_wall(moment):
        raise refuse_lossy(system, key)
    return format_moment(moment)
