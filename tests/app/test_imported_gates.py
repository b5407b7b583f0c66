"""Gates of imported tasks as real programs: the script of a NanoClaw task, the condition trigger of an OpenClaw job."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from horae.app.handles import TaskHandle
from horae.interchange import ImportedTask, nanoclaw, openclaw
from horae.model.gate import GATE_STATE_KIND, Gate
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from tests.unit.interchange.nanoclaw_files import TASK, made

PROGRAMS = {"command": {"allow": ["bash", "node", "sh"]}}
TARGET = {"command": ["sh", "-c", 'printf %s "$HORAE_GATE"']}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the machine has no node")


async def schedule(app: Horae, found: ImportedTask, target: dict[str, Any] = TARGET) -> TaskHandle:
    """Give the gate of an imported task to a task whose target exists here."""
    gate = found.request.options.gate
    assert isinstance(gate, Gate)
    return await app.schedule(target, "in 1d", gate=gate)


async def run_once(task: TaskHandle) -> Run:
    return await (await task.run_now()).wait("20s")


def read_job(script: str, **more: Any) -> ImportedTask:
    job = {
        "id": "watch",
        "name": "Watch",
        "enabled": True,
        "schedule": {"kind": "every", "everyMs": 30000},
        "trigger": {"script": script, **more.pop("trigger", {})},
        "payload": {"kind": "agentTurn", "message": "Look."},
        **more,
    }
    (found,) = openclaw.read(json.dumps({"version": 1, "jobs": [job]}), zone="UTC").tasks
    return found


@pytest.mark.parametrize("is_new", [True, False])
async def test_nanoclaw_script_wakes_the_agent_or_not(tmp_path: Path, is_new: bool) -> None:  # noqa: FBT001
    script = f"""#!/bin/bash
    words=(one two)
    echo "looking"
    echo '{{"wakeAgent": {json.dumps(is_new)}, "data": {{"count": '${{#words[@]}}'}}}}'
    echo
    """
    (found,) = nanoclaw.read(made(tmp_path, {**TASK, "script": script}), zone="UTC").tasks
    async with Horae("memory://", zone="UTC", targets=PROGRAMS) as app:
        run = await run_once(await schedule(app, found))
        if is_new:
            assert (run.state, run.value["output"]) == (RunState.SUCCEEDED, '{"count":2}')
        else:
            assert (run.state, run.reason) == (RunState.SKIPPED, Reason.GATE_CLOSED)


@needs_node
async def test_openclaw_trigger_compares_with_its_state() -> None:
    script = """const res = await exec({ command: 'echo green' });
    const status = String(res?.aggregated ?? '').trim();
    json({ fire: status !== trigger.state?.status, message: `${trigger.state?.status} -> ${status}`, state: { status } });
    """
    found = read_job(script, state={"triggerState": {"status": "red"}})
    async with Horae("memory://", zone="UTC", targets=PROGRAMS) as app:
        task = await schedule(app, found)
        first = await run_once(task)
        assert (first.state, first.value["output"]) == (RunState.SUCCEEDED, '{"message":"red -> green"}')
        second = await run_once(task)
        assert (second.reason, second.error) == (Reason.GATE_CLOSED, "green -> green")
        record = await app.store.get_record(GATE_STATE_KIND, task.id)
        assert record is not None
        assert json.loads(record.body) == {"status": "green"}


@needs_node
async def test_openclaw_trigger_fires_once_and_stays_closed() -> None:
    script = "const r = await tools.call('exec', {command: 'exit 3'}); return {fire: r.result.details.exitCode === 3}"
    found = read_job(script, trigger={"once": True})
    async with Horae("memory://", zone="UTC", targets=PROGRAMS) as app:
        task = await schedule(app, found)
        assert (await run_once(task)).state is RunState.SUCCEEDED
        assert (await run_once(task)).error == "it has fired once"


@needs_node
async def test_openclaw_trigger_that_fires_once_fires_again_after_a_failure() -> None:
    found = read_job("json({ fire: true })", trigger={"once": True})
    async with Horae("memory://", zone="UTC", targets=PROGRAMS) as app:
        task = await schedule(app, found, {"command": ["sh", "-c", "exit 1"]})
        await task.edit(retries=0)
        assert (await run_once(task)).state is RunState.FAILED
        assert (await run_once(task)).state is RunState.FAILED


@needs_node
@pytest.mark.parametrize(
    ("script", "words"),
    [("await read({path: 'x'})", "read is not defined"), ("1 + 1", "not true or false"), ("json(", "SyntaxError")],
)
async def test_openclaw_trigger_that_fails_is_reported(script: str, words: str) -> None:
    app, skipped = Horae("memory://", zone="UTC", targets=PROGRAMS), asyncio.Event()
    app.on("run.skipped")(lambda _event: skipped.set())
    async with app:
        task = await schedule(app, read_job(script))
        await task.run_now()
        async with asyncio.timeout(20):
            await skipped.wait()
        (run,) = await task.runs()
        assert run.reason is Reason.GATE_FAILED
        assert words in (run.error or "")
