"""The whole story with real parts: a message in an XMPP room, a container, claude with a model, a request, a task, its answer.

The model is a server on the loopback that calls the tool of the agent. The node is down over night, and fires the task in
the morning. The pages of the console agree with ledger, `why` and snapshot.
"""

from __future__ import annotations

import html
import json
import re
import sysconfig
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import aiohttp
import pytest

import horae
from horae import Horae
from horae.agents.protocol import CLOSE_FILE, SCHEDULED_TASK_PREFIX
from horae.agents.target.target import AgentTarget
from horae.console.request import SESSION_COOKIE
from horae.console.viewer import LANGUAGE_COOKIE
from horae.lifecycle.explain.explanation import Verdict
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import Group, GroupMount
from horae.model.run import Run, RunState
from horae.ports.runtime import Runtime, RuntimeProcess, RuntimeSpec
from horae.ports.store import TaskFilter
from horae.wire.instants import utc
from tests.channels.xmpp_service import XmppChats
from tests.deploy.podman import Podman
from tests.servers.asgi_server import serve_application
from tests.servers.model_stub import Call, Say, running_stub
from tests.servers.programs import program
from tests.servers.prosody import ProsodyServer

from .story import ZONE, TravellingClock, ended_run, heard, next_run, node, sent_texts, until

ARGUMENTS = {"prompt": "发天气预报", "schedule_type": "cron", "schedule_value": "0 9 * * *"}
MADE, FORECAST = "好的,每天早上9点。", "今天晴。"
SITE = "/workspace/extra/site"
CLAUDE = "--poll 0.05 --mind claude --model claude-sonnet-4-5"


@pytest.fixture(scope="module")
def prosody() -> Iterator[ProsodyServer]:
    with ProsodyServer(in_memory=True) as server:
        yield server


@pytest.fixture
async def room(prosody: ProsodyServer) -> AsyncIterator[XmppChats]:
    chats = XmppChats(prosody)
    await chats.ann.connect()
    yield chats
    await chats.ann.disconnect()


async def check_console(app: Horae, group: Group, run: Run, next_due: datetime) -> None:
    """The pages show what ledger, `why`, usage and snapshot have, over HTTP as a browser gets them."""
    usage = await app.service.runs.usage(LOCAL, run.id)
    assert usage is not None
    assert run.started is not None
    token = await app.service.tokens.make_first()
    cookie = (await app.service.sessions.open_with_token(str(token), client="test")).cookie
    cookies = {SESSION_COOKIE: cookie, LANGUAGE_COOKIE: "en"}
    async with serve_application(horae.console(app)) as base, aiohttp.ClientSession(base, cookies=cookies) as http:
        page = await read(http, f"/runs/{run.id}")
        assert f'"{(utc(run.started) or "")[:19]}' in page
        assert {utc(run.due), run.id, run.owner, "succeeded", FORECAST, usage.model} <= facts_of(page)
        assert f"{usage.input_tokens:,} in, {usage.output_tokens:,} out" in page
        assert FORECAST in await read(http, f"/runs/{run.id}/transcript")
        why = await read(http, f"/tasks/{run.task_id}/why", at=run.planned.isoformat())
        assert f"/runs/{run.id}" in why
        assert f'"{utc(next_due)}"' in await read(http, f"/tasks/{run.task_id}")
        chat = await read(http, "/chat", chat=group.chat)
        said = re.findall(r'class="said"[^>]*>([^<]*)<', chat)
        assert said == ["Good evening to all.", "@Andy 每天早上9点给我发天气预报", MADE, FORECAST]
        assert f"/runs/{run.id}" in chat


async def read(http: aiohttp.ClientSession, path: str, **query: str) -> str:
    async with http.get(path, params=query) as response:
        assert response.status == 200, path
        return html.unescape(await response.text())


def facts_of(page: str) -> set[str]:
    """Texts and instants of a page."""
    texts = (text.strip(' "') for text in re.split(r"<[^>]*>", page))
    return {*re.findall(r'datetime="([^"]*)"', page), *filter(None, texts)}


async def tell(folder: Path, room: XmppChats, tool: str, table: dict[str, Any], mounts: tuple[GroupMount, ...]) -> None:
    clock = TravellingClock()
    async with running_stub(Call(tool, ARGUMENTS), Say(MADE), Say(FORECAST), key="sk-host") as stub:
        table |= {"model_url": stub.url, "model_key": "MODEL_KEY"}
        async with node(folder, room, clock, table) as app:
            await app.service.secrets.set(LOCAL, "MODEL_KEY", "sk-host")
            group = await app.service.groups.add(LOCAL, "family", f"xmpp:{room.chat}", zone=ZONE, mounts=mounts)
            await room.write("Good evening to all.")
            await room.write("@Andy 每天早上9点给我发天气预报")
            await heard(room, MADE)
            (facts,) = (await app.store.tasks(TaskFilter(group.owner))).items
            target = app._targets["agent"]
            assert isinstance(target, AgentTarget)
            snapshot = target.workspace.group_ipc("family") / "current_tasks.json"
            (shown,) = json.loads(snapshot.read_text())
        asked = json.dumps(stub.received[0].body["messages"], ensure_ascii=False)
        assert "Good evening to all." in asked, "earlier messages travel along"
        due = facts.entries[0].due
        assert (due.astimezone(ZoneInfo(ZONE)).hour, facts.task.schedule.zone) == (9, ZONE)
        assert shown["id"] in {facts.task.id, facts.task.key}
        clock.travel_to(due - timedelta(seconds=2))
        async with node(folder, room, clock, table) as app:
            await heard(room, FORECAST)
            # The host asks the agent of a task to close after 10 s.
            (target.workspace.input("family") / CLOSE_FILE).touch()
            run = await ended_run(app, facts.task)
            assert (run.state, run.planned) == (RunState.SUCCEEDED, due)
            why = await app.service.explanations.why(LOCAL, facts.task.id, due)
            assert (why.verdict, [each.id for each in why.runs]) == (Verdict.RAN, [run.id])
            await until(clock, lambda: sent_texts(app, group.owner), {MADE, FORECAST})
            next_due = (due + timedelta(days=1)).astimezone(UTC)
            await until(clock, lambda: next_run(snapshot), next_due)
            await check_console(app, group, run, next_due)
    assert "[SCHEDULED TASK" in json.dumps(stub.received[2].body["messages"])
    assert len(stub.received) == 3


async def test_story_in_podman_with_claude(folder: Path, room: XmppChats, podman: Podman, image: str) -> None:
    """The libraries of claude are a permitted mount of the group: in the image they would take 400 MB."""
    site = sysconfig.get_path("purelib")
    (folder / "agents").mkdir(mode=0o700)
    allowed = {
        "allowedRoots": [{"path": site, "allowReadWrite": False}],
        "blockedPatterns": [],
        "nonMainReadOnly": True,
    }
    (folder / "agents" / "mount-allowlist.json").write_text(json.dumps(allowed))
    table = {
        "runtime": "podman",
        "image": image,
        "runtime_options": list(podman.options),
        "program": ["sh", "-c", f"PYTHONPATH={SITE} exec horae-agent {CLAUDE}"],
    }
    await tell(folder, room, "mcp__horae__schedule_task", table, (GroupMount(site, "site"),))


async def test_story_in_bubblewrap_with_openai(folder: Path, room: XmppChats) -> None:
    program("bwrap", package="bubblewrap")
    table = {"program": ["horae-agent", "--poll", "0.05", "--mind", "openai", "--model", "stub-1"]}
    await tell(folder, room, "schedule_task", table, ())


def _note_starts(runtime: Runtime) -> list[str]:
    """Return a list that gets the run of each agent that is started from now on."""
    starts, start = list[str](), runtime.start

    async def start_and_note(spec: RuntimeSpec) -> RuntimeProcess:
        starts.append(spec.run)
        return await start(spec)

    runtime.start = start_and_note  # type: ignore[method-assign]
    return starts


async def test_story_in_bubblewrap_with_echo_starts_two_agents(folder: Path, room: XmppChats) -> None:
    """From the message in the room to the answer of the morning; the node stays up, and its clock travels."""
    program("bwrap", package="bubblewrap")
    table = {"program": ["horae-agent", "--poll", "0.02", "--mind", "echo"]}
    clock = TravellingClock()
    morning = f"{SCHEDULED_TASK_PREFIX}{ARGUMENTS['prompt']}"
    async with node(folder, room, clock, table) as app:
        group = await app.service.groups.add(LOCAL, "family", f"xmpp:{room.chat}", zone=ZONE)
        target = app._targets["agent"]
        assert isinstance(target, AgentTarget)
        starts = _note_starts(target.runtime)
        await room.write(f"@Andy !schedule_task {json.dumps(ARGUMENTS, ensure_ascii=False)}")
        receipt = await heard(room, "Task scheduled.")
        (facts,) = (await app.store.tasks(TaskFilter(group.owner))).items
        due = facts.entries[0].due
        assert (due.astimezone(ZoneInfo(ZONE)).hour, facts.task.schedule.zone) == (9, ZONE)
        assert f"Task: {facts.task.id}" in receipt
        assert "every day at 09:00" in receipt
        clock.travel_to(due)
        app.service.note_write()  # otherwise the node notices the step of the clock with its next poll
        assert await heard(room, "[SCHEDULED TASK") == morning
        assert len(starts) == 2, "one for the message and one for the task"
        # The host asks the agent of a task to close after 10 s.
        (target.workspace.input("family") / CLOSE_FILE).touch()
        run = await ended_run(app, facts.task)
        assert (run.state, run.planned, run.result) == (RunState.SUCCEEDED, due, morning)
        why = await app.service.explanations.why(LOCAL, facts.task.id, due)
        assert (why.verdict, [each.id for each in why.runs]) == (Verdict.RAN, [run.id])
        await until(clock, lambda: sent_texts(app, group.owner), {receipt, morning})
        next_due = (due + timedelta(days=1)).astimezone(UTC)
        snapshot = target.workspace.group_ipc("family") / "current_tasks.json"
        await until(clock, lambda: next_run(snapshot), next_due)
