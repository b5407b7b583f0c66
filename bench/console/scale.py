"""Sizes of one run of the console benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    tasks: int  # of the store that pages are rendered from
    runs_each: int  # in the ledger, for each task
    repetitions: int  # how often each page is rendered
    has_postgres: bool  # whether PostgreSQL is measured besides SQLite
    pages: int  # open Now pages
    seconds: float  # for which lateness is measured, without and with them
    ticking: int  # tasks that fire every second meanwhile
    events: int  # replayed to one page in Chromium


FULL: Final = Sizes(100_000, 50, 40, has_postgres=True, pages=200, seconds=60, ticking=20, events=100_000)
QUICK: Final = Sizes(3_000, 20, 20, has_postgres=True, pages=50, seconds=10, ticking=20, events=5_000)
TINY: Final = Sizes(30, 3, 2, has_postgres=False, pages=2, seconds=1, ticking=5, events=100)
