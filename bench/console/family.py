"""`python -m bench --only console`: budgets, rendering on large stores, open pages, and a page that stays open for a day."""

from __future__ import annotations

from collections.abc import Iterator

from bench.console.budgets import budgets
from bench.console.growth import growth
from bench.console.open_pages import open_pages
from bench.console.rendering import rendering
from bench.counts import Counts
from bench.results import Section


def console(counts: Counts) -> Iterator[Section]:
    for part in (budgets, rendering, open_pages, growth):
        yield from part(counts.console)
