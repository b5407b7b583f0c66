"""Entry point of the schedule language: parses text in any supported form into a schedule."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from ...choices import Language
from ...errors import InvalidSchedule
from ..any_of import refuse_if_endless
from ..evaluate import next as next_after
from ..once import Once
from ..refusals import refuse
from ..rrule import RRule
from ..value import Past, Schedule
from .assemble import assemble, read_modifiers
from .dates import MonthDay
from .draft import ALWAYS_ALLOWED, Draft
from .lists import ListGrammar, Modifiers, ParsedText, PartMode, read_list
from .machine import (
    cron_offset,
    read_cron,
    read_every_alias,
    read_icalendar,
    read_json,
    read_repeating_interval,
    read_rrule,
    split_cron,
    split_rrule,
    split_zone_prefix,
)
from .zone_words import resolve_zone

MAX_TEXT_LENGTH: Final = 2000
_QUESTIONS: Final = frozenset({"once_or_weekly", "once_or_monthly", "midnight_twice", "hour_24"})
_UNSPECIFIC: Final = frozenset({"misplaced_word", "not_understood", "said_twice", "does_not_fit"})
"""Refusals of a text as one schedule that say less than the refusal of a part of it."""
_MOST_PARTS: Final = 64  # more than any sentence has commas
_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_BRACKETED_SOURCE: Final = re.compile(r"\s*\((cron\s[^()]*|rrule:[^()]*)\)\s*$", re.IGNORECASE)
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?\s*[a-zA-Z]+\s*)+|\d+(?:\.\d+)?\s*个?[\u3400-\u9fff]{1,2}")
# Full-width characters, mapped one to one, so that positions stay the same.
_FULL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x00A0: 0x20}
_TRADITIONAL: Final = str.maketrans(
    "週點鐘個號後從開時間結復執總兩禮過現馬隔運請這無", "周点钟个号后从开时间结复执总两礼过现马隔运请这无"
)
_QUOTED: Final = re.compile(r"""\s*["'“”‘’「」]?(.*?)[.!。]?["'“”‘’「」]?[.!。]?\s*""", re.DOTALL)


def parse_text(text: str, *, zone: str | None, now: datetime) -> ParsedText:
    """Parse `text`; `zone` is the default where it names none. Raises InvalidSchedule with a position in the text."""
    if len(text) > MAX_TEXT_LENGTH:
        raise refuse("too_long", MAX_TEXT_LENGTH, length=len(text), most=MAX_TEXT_LENGTH)
    try:
        reading = _read(normalize_characters(text), zone, now)
        refuse_if_endless(reading.schedule)
    except InvalidSchedule as refusal:
        raise (_bare_duration(text, zone, now) or _offer_choices(refusal, text, zone, now)).located(text) from None
    except OverflowError:
        raise refuse("out_of_calendar", 0).located(text) from None
    return reading


def _bare_duration(text: str, zone: str | None, now: datetime) -> InvalidSchedule | None:
    """The refusal of text that is only a duration, such as `5s`, `10 minutes` or `5分钟`; None for anything else."""
    normalized = normalize_characters(text).strip()
    if not _DURATION.fullmatch(normalized):
        return None
    chinese = has_chinese(normalized)
    delay, interval = (f"{normalized}后", f"每{normalized}") if chinese else (f"in {normalized}", f"every {normalized}")
    try:
        _read(delay, zone, now)
        _read(interval, zone, now)
    except (InvalidSchedule, OverflowError):
        return None
    return refuse("bare_duration", 0, value=normalized, delay=delay, interval=interval)


def _offer_choices(refusal: InvalidSchedule, text: str, zone: str | None, now: datetime) -> InvalidSchedule:
    """The refusal with the texts that the person may have meant, where there are any."""
    if refusal.code not in _QUESTIONS:
        return refusal
    from .choices import find_choices, with_choices  # noqa: PLC0415 - few texts need it

    def parse(candidate: str) -> Schedule:
        schedule = _read(candidate, zone or "UTC", now).schedule
        if schedule.kind == "once" and next_after(schedule, now, Past(anchor=now)) is None:
            raise refuse("already_past", 0, value=candidate, later="")
        return schedule

    plain = normalize_characters(text)
    choices = find_choices(refusal, plain, parse, chinese=has_chinese(plain))
    return with_choices(refusal, choices) if choices else refusal


def normalize_characters(text: str) -> str:
    """Normalize characters one to one; quotes around the text and a full stop after it become blanks."""
    normalized = text.translate(_FULL_WIDTH).translate(_TRADITIONAL)
    match = _QUOTED.fullmatch(normalized)
    if match is None:
        return normalized
    begin, end = match.span(1)
    return " " * begin + normalized[begin:end] + " " * (len(normalized) - end)


def _read(text: str, zone: str | None, now: datetime) -> ParsedText:
    """Parse one schedule; text that is none may be several, joined by `and`."""
    try:
        return _read_one(text, zone, now)
    except InvalidSchedule as refusal:
        several = _read_several(text, zone, now, refusal)
        if several is None:
            raise
        return several


def _read_several(text: str, zone: str | None, now: datetime, refusal: InvalidSchedule) -> ParsedText | None:
    """Parse several schedules; `refusal` is that of the text as one schedule. None where that one says more."""
    try:
        return read_list(text, zone, now, _LISTS)
    except InvalidSchedule as refusal_of_part:
        if refusal_of_part.code == "list_time_alone" and refusal.code not in _UNSPECIFIC:
            return None
        raise


def _read_one(text: str, zone: str | None, now: datetime, mode: PartMode | None = None) -> ParsedText:
    """`mode` says how a part of a list is read."""
    if not text.strip():
        raise refuse("empty", 0)
    if text.lstrip().startswith(("{", "[")):
        return _read_json(text, zone, now)
    calendar_entry = read_icalendar(text, zone)
    if calendar_entry is not None:
        return ParsedText(calendar_entry.schedule, named_zone=calendar_entry.named_zone, notes=calendar_entry.notes)
    prefixed = split_zone_prefix(text)
    if prefixed is not None:
        name, begin = prefixed
        rest = _read_one(" " * begin + text[begin:], resolve_zone(name, text.index(name)), now, mode)
        return replace(rest, named_zone=True)
    source_match = _BRACKETED_SOURCE.search(text)
    if source_match is not None:
        return _read_with_source(text[: source_match.start()], source_match[1], zone, now)
    schedule_or_none = read_every_alias(text, zone) or read_repeating_interval(text, zone)
    return (
        ParsedText(schedule_or_none)
        if schedule_or_none is not None
        else _read_machine(text, zone, now) or _read_phrase(text, zone, now, mode)
    )


def _read_json(text: str, zone: str | None, now: datetime) -> ParsedText:
    """Parse JSON text: a schedule, or a list of schedules; a pointer into it is none into the request."""
    from .request import parse_when  # noqa: PLC0415 - it parses the texts of a list with this module

    value = read_json(text)
    try:
        return parse_when(value, zone=zone, now=now)
    except InvalidSchedule as refusal:
        facts = {name: fact for name, fact in refusal.facts.items() if name != "pointer"}
        raise InvalidSchedule(refusal.code, refusal.sentences, facts=facts) from None


def _read_machine(text: str, zone: str | None, now: datetime) -> ParsedText | None:
    """Parse cron and RRULE with modifiers in words after them; None for other text."""
    cron = split_cron(text)
    if cron is not None:
        schedule = _read_at_offset(cron_offset(text), read_cron, cron[0], zone)
        return _apply_modifiers(schedule, text, cron[1], now)
    rrule = split_rrule(text)
    if rrule is None:
        return None
    return _apply_modifiers(_read_at_offset(rrule[1] - len(rrule[0]), read_rrule, rrule[0], zone), text, rrule[1], now)


def _read_at_offset(offset: int, reader: Any, source: str, zone: str | None) -> Schedule:
    try:
        return reader(source, zone)  # type: ignore[no-any-return]
    except InvalidSchedule as refusal:
        raise refusal.located(source, 0).located(" " * offset + source, offset) from None


def _apply_modifiers(schedule: Schedule, text: str, begin: int, now: datetime) -> ParsedText:
    if not text[begin:].strip():
        return ParsedText(schedule)
    draft = read_draft(text[begin:], begin)
    modifiers, relative = read_modifiers(draft, schedule.zone, now, exclude=isinstance(schedule, RRule))
    return ParsedText(replace(schedule, **modifiers), relative, draft.zone is not None, tuple(draft.notes))


def has_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


def read_draft(text: str, offset: int = 0, *, recurring: bool = False) -> Draft:
    """Parse a phrase; `recurring`: as if it began with `every`.

    Each grammar is imported on first use, so that a program that only uses cron loads neither.
    """
    if has_chinese(text):
        from .chinese import read_chinese  # noqa: PLC0415

        return read_chinese(text, offset, recurring=recurring)
    from .english import read_english  # noqa: PLC0415

    return read_english(text, offset, recurring=recurring)


def _read_phrase(text: str, zone: str | None, now: datetime, mode: PartMode | None) -> ParsedText:
    draft = read_draft(text, recurring=mode == "elided")
    assembled = assemble(draft, zone, now, listed=mode is not None)
    if mode is not None and assembled.schedule.kind == Once.kind:
        _refuse_unclear_once(text, draft, mode)
    return ParsedText(assembled.schedule, assembled.relative, draft.zone is not None, tuple(draft.notes))


def _refuse_unclear_once(text: str, draft: Draft, mode: PartMode) -> None:
    """Refuse a part of a list that is a time alone, or a day without a year after schedules that repeat."""
    place = len(text) - len(text.lstrip())
    if draft.delay is None and draft.day is None:
        raise refuse("list_time_alone", place, value=text.strip())
    if mode == "after_recurring" and isinstance(draft.day, MonthDay):
        yearly = f"每年{text.strip()}" if has_chinese(text) else f"every year on {text.strip()}"
        raise refuse("list_day_unclear", place, value=text.strip(), yearly=yearly)


def _read_modifiers_alone(text: str, zone: str | None, now: datetime) -> Modifiers | None:
    try:
        draft = read_draft(text)
        if not draft.filled() <= ALWAYS_ALLOWED - {"recurring"}:
            return None
        modifiers, relative = read_modifiers(draft, zone, now, exclude=False)
    except InvalidSchedule:
        return None
    return Modifiers(modifiers, relative, draft.zone is not None)


_LISTS: Final = ListGrammar(_read_one, _read_modifiers_alone)


def _read_with_source(front: str, source: str, zone: str | None, now: datetime) -> ParsedText:
    """Parse a description with its source in brackets: the source is used, and the words must describe the same schedule."""
    reading = _read_machine(source, zone, now)
    ends = [match.start() for match in re.finditer(",|$", front)] if reading else []
    if len(ends) > _MOST_PARTS:
        raise refuse("source_differs", 0)
    for end in ends:
        # Try each comma as the end of the core description; modifiers follow it, and a start may change the core.
        candidate = _try_modifiers(reading, front, end, now) if reading else None
        if candidate is not None and _describes(front[:end].strip(), candidate.schedule):
            return candidate
    raise refuse("source_differs", 0)


def _try_modifiers(reading: ParsedText, front: str, begin: int, now: datetime) -> ParsedText | None:
    try:
        return _apply_modifiers(reading.schedule, front, begin, now)
    except InvalidSchedule:
        return None


def _describes(words: str, schedule: Schedule) -> bool:
    from ..describe import describe_core  # noqa: PLC0415 - avoids an import cycle

    languages: tuple[Language, ...] = ("en", "zh")
    return any(describe_core(schedule, each).translate(_FULL_WIDTH) == words for each in languages)
