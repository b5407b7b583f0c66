"""`horae next` and `horae explain`: ask a schedule, without any task."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from enum import StrEnum

import typer

from ..clock import SystemClock
from ..errors import InvalidSchedule, Language
from ..schedule.canonical import read_moment, to_json
from ..schedule.evaluate import iterate
from ..schedule.instants import to_datetime
from ..schedule.lint import lint
from ..schedule.preview import fires_in
from ..schedule.refusals import refuse
from ..schedule.text import read
from ..schedule.text.zone_words import zone_named
from ..schedule.value import Past, first_instant, is_wall
from ..schedule.warnings import Warning, warn_each
from ..schedule.zones import Fold, Gap, find_zone
from ..settings import DefaultZone, default_zone
from .failure import environment_language, wants_json
from .render import Answer, show_explanation, show_fires, show_json

MOST_FIRES = 1000


class GapChoice(StrEnum):
    NEXT = "next"
    SHIFT = "shift"
    SKIP = "skip"


class FoldChoice(StrEnum):
    FIRST = "first"
    LAST = "last"
    BOTH = "both"


class LanguageChoice(StrEnum):
    EN = "en"
    ZH = "zh"


_TEXT = typer.Argument(..., metavar="TEXT", help='When: "every weekday at 9am", "0 9 * * 1-5", 每天早上9点.')
_ZONE = typer.Option(
    None,
    "--zone",
    "--tz",
    help="Where the text names no zone: Europe/Berlin. Default: HORAE_ZONE, else this machine's.",
)
_AFTER = typer.Option(None, "--after", help="Look from here on (not included). Default: now.")
_LANG = typer.Option(None, "--lang", help="Language of the answer. Default: from the environment.")
_JSON = typer.Option(False, "--json", help="Answer as JSON.")


def next_fires(
    text: list[str] = _TEXT,
    zone: str | None = _ZONE,
    after: str | None = _AFTER,
    until: str | None = typer.Option(None, "--until", help="Look up to here (included)."),
    number: int = typer.Option(5, "-n", "--number", min=1, max=MOST_FIRES, help="How many fires at the most."),
    gap: GapChoice | None = typer.Option(None, "--gap", help="When the clock skips the time: run next, shift or skip."),
    fold: FoldChoice | None = typer.Option(None, "--fold", help="When the clock shows it twice: first, last or both."),
    lang: LanguageChoice | None = _LANG,
    json: bool = _JSON,
) -> None:
    """Show when a schedule fires next."""
    answer = _ask(" ".join(text), zone, after, until, number, _gap(gap), _fold(fold), _language(lang))
    show_json(answer) if json or wants_json([]) else show_fires(answer)


def explain(
    text: list[str] = _TEXT,
    zone: str | None = _ZONE,
    lang: LanguageChoice | None = _LANG,
    json: bool = _JSON,
) -> None:
    """Say what a schedule means, its canonical JSON, and what may surprise."""
    answer = _ask(" ".join(text), zone, None, None, 3, None, None, _language(lang))
    show_json(answer) if json or wants_json([]) else show_explanation(answer)


def _gap(choice: GapChoice | None) -> Gap | None:
    return None if choice is None else choice.value  # type: ignore[return-value]


def _fold(choice: FoldChoice | None) -> Fold | None:
    return None if choice is None else choice.value  # type: ignore[return-value]


def _language(choice: LanguageChoice | None) -> Language:
    return environment_language() if choice is None else "zh" if choice is LanguageChoice.ZH else "en"


def _ask(
    text: str,
    zone_flag: str | None,
    after_text: str | None,
    until_text: str | None,
    number: int,
    gap: Gap | None,
    fold: Fold | None,
    language: Language,
) -> Answer:
    now = SystemClock().now().replace(microsecond=0)  # people read whole seconds
    default = default_zone(zone_flag, os.environ)
    zone = known_zone(default)
    after = now if after_text is None else _instant("after", after_text, zone)
    until = None if until_text is None else _instant("until", until_text, zone)
    text = text.strip()
    reading = read(text, zone=zone, now=after)
    schedule = reading.schedule.with_defaults(zone, gap, fold)
    past = Past(anchor=after)
    instants = [each for _, each in zip(range(number), iterate(schedule, after, past, until=until), strict=False)]
    warnings = lint(schedule, after, notes=reading.notes)
    if default.origin != "flag" and not reading.named_zone:
        warnings.insert(0, _noknown_zone(default))
    return Answer(
        text, schedule, fires_in(schedule.zone or zone, instants), warnings, after, now, language, to_json(schedule)
    )


def known_zone(default: DefaultZone) -> str:
    """Cities are understood too; what the machine says is only used when it is known."""
    try:
        return zone_named(default.name, 0)
    except InvalidSchedule:
        if default.origin == "machine":
            return "UTC"
        return find_zone(default.name).name


def _instant(option: str, text: str, zone: str) -> datetime:
    moment = read_moment(text.strip())
    if moment is None:
        raise refuse(
            "bad_value", key=f"--{option}", value=text, wanted="a time such as 2026-03-01T15:00 or 2026-03-01T15:00Z"
        )
    return to_datetime(first_instant(moment, find_zone(zone if is_wall(moment) else "UTC"))).astimezone(UTC)


def _no_zone(default: DefaultZone) -> Warning:
    zone = known_zone(default)
    reasons = {
        "environment": (f"{default.source} says so", f"{default.source} 是这样设置的"),
        "machine": ("it is this machine's", "这是本机的时区"),
        "nowhere": ("this machine names none either", "本机也没有设置时区"),
        "flag": ("", ""),
    }
    en, zh = reasons[default.origin]
    return warn_each("no_zone", {"zone": zone, "why": en}, {"zone": zone, "why": zh})
