"""Growth of a page that stays open for a day: many events are replayed in Chromium, with refreshes from a real server."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final
from unittest.mock import patch

from playwright.async_api import CDPSession, Page

from bench.console.scale import Sizes
from bench.results import Bar, Row, Section, counted
from horae.clock import SystemClock
from horae.console import application
from tests.console.chromium import started_chromium
from tests.console.console_server import Console, serve_console

_FASTER: Final = 50
"""Time in the page passes so many times faster, so that the throttle of the script lets a day of refreshes through."""
_BATCH: Final = 200
_WARM_UP: Final = 0.2
"""Share of the events before the first measurement."""
_PREPARE: Final = f"""{{
  const later = window.setTimeout.bind(window), now = performance.now.bind(performance);
  window.setTimeout = (run, wait, ...rest) => later(run, (wait ?? 0) / {_FASTER}, ...rest);
  performance.now = () => now() * {_FASTER};
  window.EventSource = class extends EventTarget {{
    constructor() {{ super(); window.replayed = this; later(() => this.onopen?.()); }}
    close() {{}}
  }};
  const ask = window.fetch.bind(window);
  window.refreshes = 0;
  window.fetch = (...given) => {{ window.refreshes += 1; return ask(...given); }};
}}"""
_REPLAY: Final = """(number) => { for (let each = 0; each < number; each += 1)
  window.replayed.dispatchEvent(new MessageEvent("run.started", { data: '{"id":"evt_' + each + '"}' })); }"""
_METRICS: Final = {"JSHeapUsedSize": "MB", "Nodes": "", "JSEventListeners": ""}
_MEGABYTE: Final = 1e6
_QUIET: Final = 1.0
"""Seconds without a refresh after which the last one is in the page."""
_CLOCK: Final = SystemClock()
_GROWTH: Final = Bar("at most", 1.1)


def growth(sizes: Sizes) -> list[Section]:
    with started_chromium() as chromium, patch.object(application, "BATCH_SECONDS", 0.0):
        # Time in the page is faster than that of the server: refreshes that wait for each other would slow it down.
        before, after, refreshes = asyncio.run(_measure(chromium, sizes.events))
    rows: list[Row] = []
    for name, unit in _METRICS.items():
        scale = _MEGABYTE if unit else 1
        rows.append(counted(f"{name}, before", before[name] / scale, "MB" if unit else ""))
        rows.append(counted(f"{name}, after", after[name] / scale, "MB" if unit else ""))
        rows.append(counted(f"{name}, grew", after[name] / max(before[name], 1), "x", _GROWTH))
    note = (
        f"{refreshes:,} refreshes of the Now page, whose rows changed meanwhile; before: after a fifth of the events."
    )
    return [Section(f"Console: a page after {sizes.events:,} events", tuple(rows), (note,))]


async def _measure(chromium: str, events: int) -> tuple[dict[str, float], dict[str, float], int]:
    async with serve_console(chromium) as console:
        context = await console.open_context()
        await context.add_init_script(_PREPARE)
        page = await context.new_page()
        session = await context.new_cdp_session(page)
        await session.send("Performance.enable")
        await page.goto(f"{console.url}/")
        changing = asyncio.ensure_future(_change_rows(console))
        warm_up = max(_BATCH, int(events * _WARM_UP))
        await _replay(page, warm_up)
        before = await _metrics(page, session)
        await _replay(page, events)
        after = await _metrics(page, session)
        refreshes: int = await page.evaluate("window.refreshes")
        changing.cancel()
        with suppress(asyncio.CancelledError):
            await changing
    return before, after, refreshes


async def _replay(page: Page, events: int) -> None:
    """Send events in batches, each after the refresh that the one before it caused."""
    for _ in range(max(1, events // _BATCH)):
        seen = await page.evaluate("window.refreshes")
        await page.evaluate(_REPLAY, _BATCH)
        await page.wait_for_function("(seen) => window.refreshes > seen", arg=seen)


async def _metrics(page: Page, session: CDPSession) -> dict[str, float]:
    """Read the metrics when the last answer is in the page: one that is still parsed has as many nodes as the page."""
    seen = -1
    while seen != (seen := await page.evaluate("window.refreshes")):
        await _CLOCK.pause(_QUIET)
    for _ in range(2):
        await session.send("HeapProfiler.collectGarbage")
    found: dict[str, Any] = await session.send("Performance.getMetrics")
    return {each["name"]: each["value"] for each in found["metrics"] if each["name"] in _METRICS}


async def _change_rows(console: Console) -> None:
    """Add and delete tasks, so that refreshes bring other rows."""
    names = list[str]()
    number = 0
    while True:
        number += 1
        names.append((await console.api.create_task(name=f"task {number}", when="every 10m"))["id"])
        if len(names) > 15:
            await console.api.delete(f"/v1/tasks/{names.pop(0)}")
        await _CLOCK.pause(0.05)
