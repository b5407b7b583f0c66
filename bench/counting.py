"""Number of fires in thirty days: computed, compared with iteration."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import horae
from bench.counts import Counts
from bench.instants import ZONE
from bench.measure import one_by_one
from bench.results import Bar, Section, timed
from horae.schedule import Past, count

# The clock change of 8 March lies within: the harder case.
_AFTER: Final = datetime(2026, 2, 20, tzinfo=UTC)
_UNTIL: Final = _AFTER + timedelta(days=30)
_TEXTS: Final = ("* * * * *", "every 1m", "every 10m from 9:00 to 18:00 on weekdays", "0 9 * * 1-5")
_BAR: Final = Bar("under", 1)


def counting(counts: Counts) -> list[Section]:
    past = Past(anchor=_AFTER)
    rows, found = [], []
    for text in _TEXTS:
        value = horae.parse(text, zone=ZONE)
        found.append(f"`{text}` {count(value, _AFTER, _UNTIL, past):,}")
        rows.append(
            timed(f"`{text}`", one_by_one(partial(count, value, _AFTER, _UNTIL, past), counts.singles), "ms", _BAR)
        )
    return [
        Section(f"Count of 30 days in {ZONE}, over a clock change", tuple(rows), (f"Counted: {', '.join(found)}.",))
    ]
