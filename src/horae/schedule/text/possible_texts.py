"""Whole texts that an ambiguous or misspelt schedule text may have meant, from the facts of its refusal."""

from __future__ import annotations

import re
from typing import Final

from ...errors import Refusal

_WORD: Final = re.compile("[A-Za-z]+")


def possible_texts(refusal: Refusal) -> tuple[str, ...]:
    """Return each text that a person can choose instead; empty for a refusal that offers none.

    One text is a correction, several are the meanings of an ambiguous text.
    """
    facts = refusal.facts
    if "pointer" in facts:
        return ()  # a choice would replace the whole list
    match refusal.code:
        case "ambiguous_hour":
            return _replace_in_source(refusal, str(facts["hour"]), str(facts["morning"]), str(facts["evening"]))
        case "ambiguous_zone":
            return _replace_in_source(refusal, str(facts["zone"]), str(facts["one"]), str(facts["other"]))
        case "every_other" | "missing_hour":
            return str(facts["one"]), str(facts["other"])
        case "bare_duration":
            return str(facts["delay"]), str(facts["interval"])
        case "unknown_word":
            return _replace_in_source(refusal, str(facts["word"]), str(facts["nearest"]))
        case _:
            found = facts.get("choices")
            return tuple(map(str, found)) if isinstance(found, list) else ()


def _replace_in_source(refusal: Refusal, ambiguous: str, *alternatives: str) -> tuple[str, ...]:
    """Return the whole source text once per alternative, with the ambiguous part replaced."""
    source, start = refusal.source, refusal.position
    if source is None or start is None:
        return ()
    word = _WORD.match(source, start)
    # The hour may be written as a word: `nine` for 9.
    is_word = word is not None and not source.startswith(ambiguous, start)
    end = word.end() if word is not None and is_word else start + len(ambiguous)
    return tuple(f"{source[:start]}{each}{source[end:]}" for each in alternatives)
