"""What a refusal looks like on a terminal: the sentence, the place, the hint."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from typing import Final

from ..choices import Language
from ..errors import InvalidSchedule
from .width import columns

FAILED: Final = 1
INVALID: Final = 6
_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_WIDEST: Final = 72


def show_refusal(refusal: InvalidSchedule, language: Language, *, as_json: bool) -> None:
    told = refusal.in_language(language)
    if as_json:
        problem = {
            "type": "about:blank",
            "title": "invalid schedule",
            "code": refusal.code,
            "detail": told.message,
            "hint": told.hint,
            "position": refusal.position,
        }
        print(json.dumps(problem, ensure_ascii=False), file=sys.stderr)  # noqa: T201 - this is the output
        return
    lines = [f"✕ {told.message}", *_pointed(refusal), f"  {told.hint}"]
    print("\n".join(lines), file=sys.stderr)  # noqa: T201 - this is the output


def show_failure(error: OSError) -> None:
    """The output could not be written: a full disk, a reader that went away."""
    with suppress(OSError):
        sys.stdout.close()
    if not isinstance(error, BrokenPipeError):
        print(f"horae: {error.strerror}", file=sys.stderr)  # noqa: T201 - this is the output


def _pointed(refusal: InvalidSchedule) -> list[str]:
    """The text with a caret under the place, cut to what fits."""
    if refusal.source is None or refusal.position is None or not refusal.source.strip():
        return []
    begin = max(0, refusal.position - _WIDEST // 2)
    shown = "".join(
        each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in refusal.source[begin : begin + _WIDEST]
    )
    return [f"  {shown}", f"  {' ' * columns(shown[: refusal.position - begin])}^"]


def wanted_language(arguments: list[str]) -> Language:
    """From `--lang`, else the language of the text, else of the environment; also when the text is refused."""
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=False):
        chosen = value if flag == "--lang" else flag.removeprefix("--lang=") if flag.startswith("--lang=") else ""
        if chosen in ("en", "zh"):
            return "zh" if chosen == "zh" else "en"
    return language_for(" ".join(arguments))


def language_for(text: str) -> Language:
    """Who writes Chinese is answered in Chinese."""
    return "zh" if _CHINESE.search(text) else environment_language()


def environment_language() -> Language:
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.startswith("zh") else "en"


def wants_json(arguments: list[str]) -> bool:
    return "--json" in arguments or os.environ.get("HORAE_OUTPUT") == "json"
