"""Writing back: the original spelling where it still holds, else a plain one that is proved by reading it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ...errors import InvalidSchedule
from ..canonical import show_moment, to_json
from ..refusals import refuse
from ..value import Moment, is_wall
from .translation import Translation

Spell = Callable[[Translation], dict[str, Any]]
Read = Callable[[Mapping[str, Any]], Translation]


def written(system: str, translation: Translation, zone: str | None, spell: Spell, read: Read) -> dict[str, Any]:
    """What `spell` makes of a translation, refused unless reading it gives the same translation."""
    known = translation.spelling_in(system, zone)
    if known is not None:
        return known
    mapping = spell(translation)
    parts = _lost(translation, read(mapping), zone)
    if parts:
        raise lost(system, *parts)
    return mapping


def _lost(wanted: Translation, got: Translation, zone: str | None) -> list[str]:
    """The names of what did not survive. A policy that is not named is left to the dialect."""
    before = to_json(wanted.schedule.with_defaults(zone))
    after = to_json(got.schedule.with_defaults(zone))
    parts = [key for key in (before | after) if before.get(key) != after.get(key)]
    parts += [key for key in wanted.policies if key not in got.policies or wanted.policies[key] != got.policies[key]]
    return parts + [key for key in wanted.state if wanted.state[key] != got.state.get(key)]


def lost(system: str, *parts: str) -> InvalidSchedule:
    return refuse("compat_lost", system=system, parts=", ".join(parts))


def unknown_kind(system: str, translation: Translation, *known: str) -> InvalidSchedule:
    return refuse("compat_no_kind", system=system, kind=translation.schedule.kind, known=", ".join(known))


def shown_time(system: str, key: str, moment: Moment) -> str:
    """Wall time or an instant as text; a date alone is too little for those who ask for a time."""
    if not isinstance(moment, datetime):
        raise lost(system, key)
    return show_moment(moment)


def shown_instant(system: str, key: str, moment: Moment) -> str:
    """For dialects that know instants only: wall time would become something else the day a zone changes its rules."""
    if is_wall(moment):
        raise lost(system, key)
    return show_moment(moment)
