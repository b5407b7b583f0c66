"""`app.simulate`: a month of the app's tasks in virtual time; no function is called and nothing is written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from horae import Horae

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


async def test_simulation_reports_declared_and_stored_tasks_and_calls_nothing(tmp_path: Path) -> None:
    app = Horae(f"sqlite:///{tmp_path}/horae.db", zone="Europe/Berlin", engine=False)
    called: list[str] = []

    @app.task("every day at 02:30", name="night")
    def night() -> None:
        called.append("night")

    @app.task("every 10m", name="slow", lane="printer")
    def slow() -> None:
        called.append("slow")

    async with app:
        await app.schedule({"say": "x"}, "every day at 9:00", name="stored")
        before = await app.store.last_event()
        report = await app.simulate("31d", start=MARCH, takes={"slow": "15m"})
        assert await app.store.last_event() == before
    by_name = {task.name: task for task in report.tasks}
    assert by_name.keys() == {"night", "slow", "stored"}
    assert by_name["night"].ran == 31
    assert {finding.code for finding in report.findings} >= {"clock_gap", "overlaps"}
    assert called == []
