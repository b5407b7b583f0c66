"""`horae demo`: watch a few schedules, the first of them firing within seconds."""

from __future__ import annotations

import signal
import sys
from datetime import timedelta
from types import FrameType
from typing import NoReturn

import typer

from ..choices import Language
from ..clock import SystemClock
from .failure import environment_language

_WITHOUT_TERMINAL = 60  # nobody is there to press Ctrl-C


def demo(
    lang: Language | None = typer.Option(None, "--lang", help="Language of the table."),
    seconds: int = typer.Option(
        0,
        "--seconds",
        min=0,
        help="End after so many seconds. Default: on Ctrl-C, or after a minute without a terminal.",
    ),
) -> None:
    """Watch the next fires of a few schedules."""
    from .live import watch  # noqa: PLC0415 - `--help` does without

    language = lang or environment_language()
    clock = SystemClock()
    # Started in the background by a script, a program inherits that Ctrl-C is to be ignored: not this one.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _stop)
    if not seconds and not sys.stdout.isatty():
        seconds = _WITHOUT_TERMINAL
    try:
        watch(clock, language, clock.now() + timedelta(seconds=seconds) if seconds else None)
    except KeyboardInterrupt:
        return


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
