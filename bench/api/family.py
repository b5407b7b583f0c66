"""`python -m bench --only api`: requests a second, readers of events, and a crowd, each at a real deployment."""

from __future__ import annotations

from collections.abc import Iterator

from bench.api.crowd import crowd
from bench.api.requests import requests
from bench.api.streams import streams
from bench.counts import Counts
from bench.results import Section


def api(counts: Counts) -> Iterator[Section]:
    for part in (requests, streams, crowd):
        yield from part(counts.api)
