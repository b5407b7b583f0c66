"""`python -m tests.console.readme_picture docs/images`: the picture of the Now page in the README, in both languages."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from horae.model.accounts.principal import LOCAL
from horae.model.run import Run, RunState
from horae.testing.factories import a_node, an_ended_run
from tests.console.chromium import started_chromium
from tests.console.console_server import Console, Language, serve_console

_TASKS: Final = (
    ("morning report", "every weekday at 09:00", 1),
    ("nightly backup", "every day at 02:00", 1),
    ("对账", "每天早上9点", 1),
    ("heartbeat", "every 5 minutes", 12),
    ("sync invoices", "every 10 minutes", 6),
)
_HOURS: Final = 24
_NAMES: Final[dict[Language, str]] = {"en": "now.png", "zh": "now-zh.png"}


async def _fill(console: Console) -> None:
    service, now = console.service, console.api.app.context.clock.now()
    for place, (name, when, per_hour) in enumerate(_TASKS):
        made = await console.api.create_task(name=name, when=when, zone="Asia/Shanghai")
        task = (await service.tasks.get(LOCAL, made["id"])).task
        spacing = timedelta(hours=1) / per_hour
        instants = [now - spacing * number for number in range(1, (_HOURS * per_hour if per_hour > 1 else 2) + 1)]
        runs = [an_ended_run(task, planned=at) for at in instants]
        await service.tasks.import_history(
            LOCAL, task.id, [_vary(run, place, number) for number, run in enumerate(runs)]
        )
    await service.store.join(a_node(renewed=now, joined=now, host="north", version="0.1.0", capacity=16, load=1))


def _vary(run: Run, place: int, number: int) -> Run:
    """Return the run some milliseconds late, and now and then failed."""
    late = timedelta(milliseconds=2 + (number * 7 + place * 3) % 9)
    started: datetime = run.planned + late
    run = run._replace(started=started, ended=started + timedelta(milliseconds=40 + number % 50))
    return run._replace(state=RunState.FAILED, error="HTTP 503") if number % 37 == 20 else run


async def _take(chromium: str, folder: Path) -> None:
    async with serve_console(chromium) as console:
        await _fill(console)
        for language, name in _NAMES.items():
            page = await console.open("/", "admin", language=language, theme="light")
            await page.set_viewport_size({"width": 1280, "height": 880})
            await page.screenshot(path=folder / name)


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    with started_chromium() as chromium:
        asyncio.run(_take(chromium, Path(folder)))


if __name__ == "__main__":
    main(sys.argv[1])
