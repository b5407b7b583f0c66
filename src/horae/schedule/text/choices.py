"""Whole texts to choose from, for a schedule text that has more than one meaning: each one parses and has one meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import time, timedelta
from typing import Final

from ...choices import Language
from ...errors import InvalidSchedule, Sentence
from ..calendar import Calendar
from ..once import Once
from ..value import Schedule

ParseText = Callable[[str], Schedule]

MAX_TEXT: Final = 80
"""Characters. The choices repeat the text, so a longer one keeps the general hint."""
_MAX_CHOICES: Final = 6
_ON: Final = re.compile(r"\s*(?:on\s+)?", re.IGNORECASE)
_HOUR: Final = re.compile(r"\d+|[A-Za-z]+")
_CHINESE_MIDNIGHT: Final = re.compile(
    r"(?:(?P<day>[今明每])晚上?|晚上|晚间|夜里|夜间|深夜|半夜|午夜|凌晨|晚)\s*(?:12|十二)\s*"
    r"(?::(?P<minute>\d\d)|[点时](?:钟|整)?(?P<half>半)?)|午夜|半夜"
)
_CHINESE_24: Final = re.compile(r"(?:晚上|夜里|午夜|半夜)?\s*24\s*(?::00(?::00)?|[点时](?:钟|整)?)")
_ENGLISH_MIDNIGHT: Final = re.compile(
    r"midnight|(?<![\d:])12(?::(?P<minute>\d\d))?(?:\s*(?:at\s+night|in\s+the\s+(?:evening|night)))?(?![\d:])",
    re.IGNORECASE,
)
_ENGLISH_24: Final = re.compile(r"(?<![\d:])24:00(?::00)?")
_TONIGHT: Final = re.compile(r"\btonight\b", re.IGNORECASE)
_LATE: Final = "23:59"
_ONE_DAY: Final = timedelta(days=1)


def find_choices(refusal: InvalidSchedule, text: str, parse: ParseText, *, chinese: bool) -> tuple[str, ...]:
    """`text` is in plain signs; `parse` raises InvalidSchedule for a text that is not clear."""
    if len(text) > MAX_TEXT:
        return ()
    place = refusal.position or 0
    match refusal.code:
        case "once_or_weekly" if chinese:
            candidates = [f"{text[:place]}{word}{text[place:]}" for word in ("每", "本", "下")]
        case "once_or_weekly":
            rest = text[_match_end(_ON, text, place) :]
            candidates = [f"{text[:place]}{word} {rest}" for word in ("every", "this", "next")]
        case "once_or_monthly":
            candidates = [f"{text[:place]}{word}{text[place:]}" for word in ("每月", "本月", "下个月")]
        case "midnight_twice" | "hour_24":
            candidates = list(_midnights(refusal.code, text, parse, chinese=chinese))
        case _:
            return ()
    found = [clear for each in candidates for clear in _clear_texts(each.strip(), parse, chinese=chinese)]
    return tuple(dict.fromkeys(found))[:_MAX_CHOICES]


def _match_end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return place if match is None else match.end()


def _clear_texts(text: str, parse: ParseText, *, chinese: bool, depth: int = 2) -> Iterator[str]:
    """The text where it parses; where only its hour is missing or unclear, the text with each hour that it may mean."""
    try:
        parse(text)
    except InvalidSchedule as refusal:
        if not depth:
            return
        if refusal.code in ("missing_at", "missing_time"):
            yield from _clear_texts(f"{text}9点" if chinese else f"{text} at 09:00", parse, chinese=chinese, depth=0)
        if refusal.code == "ambiguous_hour" and refusal.position is not None:
            end = _match_end(_HOUR, text, refusal.position)
            for hour in ("morning", "evening"):
                clear = f"{text[: refusal.position]}{refusal.facts[hour]}{text[end:]}"
                yield from _clear_texts(clear, parse, chinese=chinese, depth=depth - 1)
    else:
        yield text


def _midnights(code: str, text: str, parse: ParseText, *, chinese: bool) -> Iterator[str]:
    """00:00 of the named day and 00:00 of the day after it; 24:00 is only the second one."""
    chinese_pattern, english_pattern = (
        (_CHINESE_24, _ENGLISH_24) if code == "hour_24" else (_CHINESE_MIDNIGHT, _ENGLISH_MIDNIGHT)
    )
    match = (chinese_pattern if chinese else english_pattern).search(text)
    if match is None:
        return
    groups = match.groupdict()
    minute = 30 if groups.get("half") else int(groups.get("minute") or 0)
    day = f"{groups['day']}天" if groups.get("day") else ""

    def at(clock: str) -> str:
        return _TONIGHT.sub("today", f"{text[: match.start()]}{day}{clock}{text[match.end() :]}")

    try:
        # The late evening is still ahead where the beginning of the day has passed.
        late, first = parse(at(_LATE)), at(f"00:{minute:02}")
    except InvalidSchedule:
        return
    is_end = code == "hour_24"
    match late:
        case Once(at=moment) if moment.tzinfo is None:
            days = (moment + _ONE_DAY,) if is_end else (moment, moment + _ONE_DAY)
            zone = _zone_in(text, late)
            yield from (f"{each:%Y-%m-%d} 00:{minute:02}{zone}" for each in days)
        case Calendar(unit="day", every=1):
            yield first
        case Calendar(unit="week", on=weekdays, at=(_,)):
            if not is_end:
                yield first
            later = tuple((each + 1) % 7 for each in weekdays if isinstance(each, int))
            yield _described(replace(late, on=later, at=(time(0, minute),)), text, chinese=chinese)
        case _:
            return


def _zone_in(text: str, schedule: Schedule) -> str:
    return f" {schedule.zone}" if schedule.zone is not None and schedule.zone in text else ""


def _described(schedule: Calendar, text: str, *, chinese: bool) -> str:
    from ..describe import describe_core  # noqa: PLC0415 - describing loads both languages, and few texts need it

    separator = ", " if not chinese else "，"
    zone = _zone_in(text, schedule).strip()
    return describe_core(schedule, "zh" if chinese else "en") + (f"{separator}{zone}" if zone else "")


def with_choices(refusal: InvalidSchedule, choices: tuple[str, ...]) -> InvalidSchedule:
    """The same refusal whose hint lists the choices; programs find them in its facts."""
    hints: dict[Language, str] = {"en": _hint_en(choices), "zh": _hint_zh(choices)}
    sentences = {language: Sentence(refusal.in_language(language).message, hint) for language, hint in hints.items()}
    facts = {**refusal.facts, "choices": list(choices)}
    return InvalidSchedule(refusal.code, sentences, position=refusal.position, source=refusal.source, facts=facts)


def _hint_en(choices: tuple[str, ...]) -> str:
    *most, last = (f'"{each}"' for each in choices)
    return f"Did you mean {', '.join(most)} or {last}?" if most else f"Write {last}."


def _hint_zh(choices: tuple[str, ...]) -> str:
    *most, last = (f"“{each}”" for each in choices)
    return f"是{'、'.join(most)}还是{last}？" if most else f"请写{last}。"
