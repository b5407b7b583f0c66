"""A bounded soak: many requests by chance leave a real server's memory flat, and none of them is answered with 5xx."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.api.soak import soak

WARM: Final = 0.4
"""What is remembered on purpose was filled before; threads, routes and SQLite's pages take some thousand requests."""
MOST_GROWTH: Final = 0.03
"""Of the last four thousand requests: what keeps a kilobyte of each is found here, and what keeps less by `make soak-api`."""
REQUESTS: Final = 7_000
SEED: Final = 20_261_116


@pytest.mark.serial("on a busy machine requests queue up in the server, and its memory grows by what waits")
def test_many_requests_by_chance_are_all_answered_and_leave_memory_flat(tmp_path: Path) -> None:
    verdict = soak(tmp_path, REQUESTS, SEED, WARM)
    assert verdict.wrong == []
    assert verdict.answered == REQUESTS
    assert verdict.streams > 0
    # Whoever sends nonsense alone shows nothing: all the usual answers are among these.
    assert {200, 201, 400, 401, 403, 404, 409, 422} <= verdict.statuses.keys()
    assert verdict.growth <= MOST_GROWTH, verdict.course
