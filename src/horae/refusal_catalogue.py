"""Catalogue of refusals: each stable code with its exception class, message and hint in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, Generic, NamedTuple, TypeVar

from .errors import Refusal, Sentence
from .plural import apply_number_agreement
from .state_names import state_name
from .typography import full_width, truncate

_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
_MAX_FACT: Final = 80
_MAX_OWN_FACT: Final = 600
_OWN_FACTS: Final = frozenset(
    {
        "allowed",
        "command",
        "deed",
        "deed_zh",
        "file",
        "folder",
        "found",
        "names",
        "networks",
        "path",
        "problem",
        "toml",
    }
)
"""Facts that Horae itself writes, such as the allowed values, the candidates or the problem in a file. They get a longer
limit, because a truncated one would lack the part that the user needs."""
_STATE_FACT: Final = "state"
"""Fact that holds a state: its value in English, its translation in Chinese."""
_Kind_co = TypeVar("_Kind_co", bound=Refusal, covariant=True)


class RefusalEntry(NamedTuple, Generic[_Kind_co]):
    """One refusal: its exception class, message and hint. Facts in braces are filled in when it is built."""

    kind: type[_Kind_co]
    message: str
    hint: str
    message_zh: str
    hint_zh: str


class RefusalCatalogue(dict[str, RefusalEntry[Refusal]]):
    """The refusals of one package, by code."""

    def refuse(self, code: str, **facts: object) -> Refusal:
        """Build the refusal for `code`; the caller raises it."""
        return build_refusal(code, self[code], facts)


def build_refusal(
    code: str, entry: RefusalEntry[_Kind_co], facts: Mapping[str, object], *, position: int | None = None
) -> _Kind_co:
    """Fill the facts into the sentences of `entry`. A fact that is a pair of texts is (English, Chinese).

    `position` is an offset in the text that the user gave.
    """
    english, chinese = (
        {name: _render_fact(name, fact, entry, column) for name, fact in facts.items()} for column in (0, 1)
    )
    if _STATE_FACT in chinese:
        chinese[_STATE_FACT] = state_name(chinese[_STATE_FACT], "zh")
    return entry.kind(
        code,
        {
            "en": Sentence(
                *(apply_number_agreement(each, facts).format_map(english) for each in (entry.message, entry.hint))
            ),
            "zh": Sentence(*(full_width(each).format_map(chinese) for each in (entry.message_zh, entry.hint_zh))),
        },
        position=position,
        facts=facts,
    )


def _render_fact(name: str, fact: object, entry: RefusalEntry[Refusal], column: int) -> str:
    match fact:
        case (str(), str()):
            text = fact[column]
        case _:
            text = _to_text(fact)
    return _sanitize(text, _MAX_OWN_FACT if _is_own_fact(name, entry) else _MAX_FACT)


def _is_own_fact(name: str, entry: RefusalEntry[Refusal]) -> bool:
    """Return whether Horae wrote the fact: one that only a hint uses says what would work, and is useless when truncated."""
    return name in _OWN_FACTS or f"{{{name}}}" not in entry.message


def _to_text(fact: object) -> str:
    if isinstance(fact, timedelta):  # as the user would type it, not as Python prints it
        if timedelta(0) < fact < _SECOND:
            return f"{fact.total_seconds() * 1000:g}ms"
        if not fact:
            return "0s"
        return f"{fact.days}d" if not fact % _DAY else f"{fact.total_seconds():g}s"
    try:
        return str(fact)
    except (RecursionError, ValueError):
        # Nested too deeply, or an integer with too many digits, for str().
        return type(fact).__name__


def _sanitize(fact: str, most: int) -> str:
    """Truncate a fact and replace control characters: hostile input must neither fill a message nor control a terminal."""
    printable = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in fact[: most + 1]
    )
    return truncate(printable, most)
