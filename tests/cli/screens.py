"""Rendering of a command on a terminal of a given width, in this process."""

from __future__ import annotations

import io
import re
import sys
from unittest.mock import patch

from horae.cli.main import main
from horae.cli.output.styled_text import display_width as width_of
from tests.cli.command_line import Cli, patched_process

WIDE_ENOUGH = 4000
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DRAWN_OVER = re.compile(r"^.*\r", re.MULTILINE)
_WORD = re.compile(r"[^\s\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60…]+")
_TO_BE_COPIED = re.compile(r"(?:\S+： ?|\S+: )?[('“`（]*(?:horae|python|pip|chmod|sed|\| curl|-[Hd]) ")
_ONE_WORD = re.compile(r" *(?:[✓✕!◐△⊘○] )?\S+(?: \\)?$")
_AMOUNT = re.compile(r"[(+]?\d[\d.,:]*(?:ms|s|m|h|d|Z)?[,;.)]*")
_CUT = re.compile(r"(?:_[0-9a-f]{6,}|\d:\d\d|\d-\d\d)…")


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(cli: Cli, *arguments: str, columns: int, language: str = "en", code: int | None = None) -> str:
    """Return standard output and standard error together, as a terminal shows them."""
    shown = _Screen()
    locale = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}[language]
    known = cli.environment(COLUMNS=str(columns), LANG=locale, TERM="xterm")
    with patched_process(cli.directory, arguments, known), patch.multiple(sys, stdout=shown, stderr=shown):
        try:
            main()
        except SystemExit as ending:
            assert ending.code in ((0, 1, None) if code is None else (code,)), shown.getvalue()
    return _DRAWN_OVER.sub("", _COLOURS.sub("", shown.getvalue()))


def words_of(text: str) -> set[str]:
    """Return the words between spaces and Chinese characters, without amounts, which change with time."""
    return {word for word in _WORD.findall(text) if not _AMOUNT.fullmatch(word)}


def layout_faults(shown: str, columns: int, whole_words: set[str] | None = None) -> list[str]:
    """Return layout faults: lines that are too wide, truncated ids and times, broken words.

    A word or a command wider than the terminal stays whole on its own line, to be copied.
    """
    lines = shown.splitlines()
    wide = [line for line in lines if width_of(line) > columns]
    found = [f"too wide: {line}" for line in wide if not (_ONE_WORD.match(line) or _TO_BE_COPIED.match(line.strip()))]
    found += [f"cut: {line}" for line in lines if _CUT.search(line)]
    if whole_words is not None:
        cut = {word for line in lines for word in re.findall(r"(\S+)…", line)}
        found += [f"broken: {word}" for word in sorted(words_of(shown) - whole_words - cut)]
    return found
