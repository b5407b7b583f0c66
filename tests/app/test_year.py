"""Time travel: what happened in a long time is remembered whole, and quickly gone through."""

from __future__ import annotations

from horae import Horae
from horae.testing import TimeTravel


def test_nothing_is_forgotten_on_the_way() -> None:
    app = Horae("memory://")

    @app.task("0 * * * *", zone="UTC")
    async def hourly() -> None: ...

    with TimeTravel(app, "2026-01-01 00:00", zone="UTC") as time:
        time.travel("90d")
        assert len(time.ran(hourly)) == 90 * 24
