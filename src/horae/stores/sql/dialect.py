"""Capabilities in which SQL databases differ, as far as the code that all SQL stores share depends on them."""

from __future__ import annotations

from typing import NamedTuple


class Dialect(NamedTuple):
    max_claim_slice: int
    """Largest number of due entries that one transaction decides."""
    max_decide_seconds: float
    """Processor time after which a claim stops deciding; waiting time does not count, because stopping early would not
    shorten it."""
    has_concurrent_writers: bool
    """Other transactions write at the same time: entries are locked before they are decided, ids and keys are checked
    before they are inserted, and a read before the transaction costs a round trip."""
    stores_nul: bool
    """A text may contain NUL characters."""
