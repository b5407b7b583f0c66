"""A flood of 10,000 files of one group, with links, pipes and half-written ones: another group is served after two looks at most."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, Final

from horae.agents.requests.inbox import MAX_ANSWERS, MAX_CLAIMS, Request
from horae.agents.requests.request_host import RequestHost
from horae.clock import SystemClock

from .request_harness import FAMILY, WORK, RequestHarness

FILES: Final = 10_000
REQUEST: Final = json.dumps({"type": "pause_task", "taskId": "none"})


def flood(box: Path, secret: Path) -> None:
    for number in range(FILES):
        path = box / f"{number:06d}-a.json"
        match number % 100:
            case 1:
                path.symlink_to(secret)
            case 2:
                os.mkfifo(path)
            case 3:
                path.write_text(REQUEST[:20], encoding="utf-8")
            case _:
                path.write_text(REQUEST, encoding="utf-8")


async def test_valid_file_waits_for_two_looks_at_a_flood_at_most(requests: RequestHarness, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"type": "message", "text": "s3cret"}', encoding="utf-8")
    clock, box = SystemClock(), requests.box(FAMILY)
    host = RequestHost(requests.service, clock, requests.workspace)
    answered, others = asyncio.Event(), 0
    answer = host.inbox.answer
    loop = asyncio.get_running_loop()

    def note(request: Request, document: Any) -> None:
        nonlocal others
        answer(request, document)
        others += request.folder == FAMILY
        if request.folder == WORK:
            loop.call_soon_threadsafe(answered.set)

    host.inbox.answer = note  # type: ignore[method-assign, assignment]
    flood(box, secret)
    running = asyncio.create_task(host.run())
    try:
        for number in range(3):
            answered.clear()
            before = others
            requests.put(WORK, f"{number}-a.json", type="message", text=f"hello {number}")
            async with asyncio.timeout(60):
                await answered.wait()
            # The look that had begun may have missed it; in the next one the groups take turns.
            assert others - before <= 2 * MAX_CLAIMS
        async with asyncio.timeout(120):
            while any(box.iterdir()) or any(requests.workspace.claimed.iterdir()):
                await clock.pause(0.1)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert await requests.texts(WORK) == ["hello 0", "hello 1", "hello 2"]
    assert await requests.texts(FAMILY) == []
    answers = list(requests.box(FAMILY, "answers").iterdir())
    assert 0 < len(answers) <= MAX_ANSWERS + 100
    assert list((requests.workspace.quarantine / FAMILY).iterdir())
