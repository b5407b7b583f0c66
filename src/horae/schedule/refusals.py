"""Every way in which a schedule is refused: a closed list of codes, each with a sentence and a hint in two languages."""

from __future__ import annotations

from ..errors import InvalidSchedule, Sentence

# code: (English message, English hint, Chinese message, Chinese hint). Facts in braces are filled in by `refuse`.
_CATALOGUE: dict[str, tuple[str, str, str, str]] = {
    # --- shared by all kinds -------------------------------------------------------------------------------------
    "empty": (
        "There is no schedule here.",
        'Write when it should run, for example "every weekday at 9am" or "0 9 * * 1-5".',
        "这里没有时间规则。",
        "请写出何时执行，例如“周一至周五 9:00”或“0 9 * * 1-5”。",
    ),
    # --- rrule ---------------------------------------------------------------------------------------------------
}

_LONGEST_FACT = 60


def refuse(code: str, position: int | None = None, **facts: object) -> InvalidSchedule:
    """Build the refusal for `code`; the caller raises it."""
    shown = {name: _shorten(str(fact)) for name, fact in facts.items()}
    message, hint, message_zh, hint_zh = (part.format_map(shown) for part in _CATALOGUE[code])
    return InvalidSchedule(
        code,
        {"en": Sentence(message, hint), "zh": Sentence(message_zh, hint_zh)},
        position=position,
    )


def codes() -> frozenset[str]:
    return frozenset(_CATALOGUE)


def _shorten(fact: str) -> str:
    """Hostile input must not come back as a ten-kilobyte message, nor move the cursor of a terminal."""
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in fact[: _LONGEST_FACT + 1])
    return printable if len(printable) <= _LONGEST_FACT else printable[: _LONGEST_FACT - 1] + "…"
