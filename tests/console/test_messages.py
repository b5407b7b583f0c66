"""Catalogue of texts: templates, pages and scripts use names that exist, none is left over, and both languages agree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Final

from horae.console.messages import TEXTS

UNUSED: Final = frozenset(
    "actions cancel clear_filter copied delete due due_next_hour edit filter last none_match none_yet nothing owner pause planned "
    "reason resume run run_now save since strip_now unknown when why edit_choose edit_payload edit_arguments simple_no_result".split()
)
"""Words that several pages share, before every page of the console is there."""
CONSOLE: Final = Path(str(files("horae.console")))
_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::[^{}]*)?\}")
_USED: Final = re.compile(r"""\bt\(\s*["'](\w+)["']\s*[,)]""")
_DYNAMIC: Final = re.compile(r"""["'](\w+_)["']\s*~|f["'](\w+_)\{|["'](\w+_)["']\s*\+""")
_DYNAMIC_END: Final = re.compile(r"""f["']\{\w+\}(_\w+)["']""")
_WORD: Final = re.compile(r"""["'](\w+)["']""")


def _sources() -> dict[str, str]:
    """Return everything that may use a text, by path."""
    paths = [*CONSOLE.rglob("templates/**/*.html"), *CONSOLE.glob("static/*.js"), *CONSOLE.rglob("*.py")]
    return {str(path.relative_to(CONSOLE)): path.read_text() for path in paths if path.parent.name != "messages"}


def _matches(pattern: re.Pattern[str], texts: Iterable[str]) -> set[str]:
    return {group for text in texts for match in pattern.finditer(text) for group in match.groups() if group}


def test_every_text_that_a_template_uses_exists() -> None:
    for path, source in _sources().items():
        missing = sorted(_matches(_USED, [source]) - set(TEXTS))
        assert missing == [], path


def test_no_text_is_left_over() -> None:
    sources = _sources().values()
    prefixes, ends = tuple(_matches(_DYNAMIC, sources)), tuple(_matches(_DYNAMIC_END, sources))
    unused = set(TEXTS) - _matches(_WORD, sources)
    unused = {name for name in unused if not name.startswith(prefixes) and not name.endswith(ends)}
    assert sorted(unused - UNUSED) == []


def test_scripts_use_the_texts_that_pages_carry() -> None:
    used = {
        word
        for word in _matches(_WORD, (source for path, source in _sources().items() if path.endswith(".js")))
        if word.startswith("js_")
    }
    assert used == {name for name in TEXTS if name.startswith("js_")}


def test_both_languages_have_the_same_placeholders() -> None:
    for name, text in TEXTS.items():
        assert set(_PLACEHOLDER.findall(text.en)) == set(_PLACEHOLDER.findall(text.zh)), name


def test_both_languages_have_a_text() -> None:
    for name, text in TEXTS.items():
        assert text.en.strip(), name
        assert text.zh.strip(), name
