"""Attacks from inside of real sandboxes through the agent target: contained or refused, and a run, log or file tells it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from secrets import token_hex
from typing import Final

import pytest

from horae.agents.target.turn_state import PROCESS_LIMIT
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import GroupMount
from horae.model.run import RunState
from tests.agents.safety.attacker import ATTACKER, answers, attack, contained, in_both, log_of, serve
from tests.agents.safety.process_list import processes
from tests.agents.turns.agent_host import OpenAgents

HOG: Final = "data = [b'x' * 1_048_576 for _ in range(4_096)]\nemit('has 4 GiB')"
FORK_BOMB: Final = """
import time
children = 0
try:
    while children < 2_000:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        children += 1
except OSError:
    pass
emit(str(children))
"""
FLOOD: Final = "while True: sys.stdout.write('x' * 100_000)"
HOSTILE_FILES: Final = """
box = "/workspace/ipc/tasks"
good = json.dumps({"type": "schedule_task", "prompt": "hello", "when": "every day at 9:00"})
open("/workspace/group/mine.json", "w").write(good)
os.symlink("/workspace/group/mine.json", box + "/1-inside.json")
os.symlink("/etc/passwd", box + "/2-outside.json")
open(box + "/hard.tmp", "w").write(good)
os.link(box + "/hard.tmp", box + "/3-hard.json")
os.mkfifo(box + "/4-fifo.json")
os.mkdir(box + "/5-directory.json")
open(box + "/6-half.json", "w").write(good[:20])
open(box + "/7-good.json", "w").write(good)
emit("written")
"""
pytestmark = pytest.mark.usefixtures("_close_at_once")


@pytest.fixture
def _close_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.05)


@in_both
async def test_memory_hog_fails_its_run(agents: OpenAgents) -> None:
    async with agents(ATTACKER) as host:
        group = await host.add_group(memory_megabytes=64)
        async with contained(host, group):
            run = await attack(host, group, HOG)
        # Podman removes the control group before it can be asked.
        beyond = "The agent used more memory than its limit."
        told = "Container exited with code 137" if host.target.settings.runtime == "podman" else beyond
        assert run.state is RunState.FAILED
        assert str(run.error).startswith(told)
        assert told in log_of(host, group, run)


@in_both
async def test_fork_bomb_gets_no_further_than_its_limit_and_ends_with_its_run(agents: OpenAgents) -> None:
    async with agents(ATTACKER) as host:
        group = await host.add_group(processes=32)
        before = len(list(Path("/proc").glob("[0-9]*")))
        async with contained(host, group):
            run = await attack(host, group, FORK_BOMB)
            assert len(list(Path("/proc").glob("[0-9]*"))) < before + 32
        assert run.state is RunState.SUCCEEDED, run.error
        assert 1 <= int(run.result) < 32
        assert f"result: {run.result}" in log_of(host, group, run)
        if host.target.settings.runtime != "podman":
            # Podman removes the control group before it can be asked.
            lines = await host.app.service.runs.lines(LOCAL, run.id)
            assert (PROCESS_LIMIT, "warning") in {(each.line.text, each.line.level) for each in lines}


@in_both
async def test_endless_output_fails_its_run_and_fills_no_disk(agents: OpenAgents) -> None:
    async with agents(ATTACKER) as host:
        group = await host.add_group()
        async with contained(host, group):
            run = await attack(host, group, FLOOD)
        assert (run.state, run.error) == (RunState.FAILED, "The agent wrote more output than its limit.")
        assert len(log_of(host, group, run)) < 100_000


@in_both
async def test_refused_mounts_are_missing_inside_and_named_in_the_log(agents: OpenAgents, tmp_path: Path) -> None:
    """Outside of the list, the socket of docker below a permitted directory, and both behind links."""
    private, allowed = tmp_path / "private", tmp_path / "allowed"
    for folder in (private, allowed):
        folder.mkdir()
    (allowed / "link").symlink_to(private)
    (allowed / "harmless").symlink_to(allowed / "docker.sock")
    paths = {
        "private": private,
        "link": allowed / "link",
        "sock": allowed / "docker.sock",
        "harmless": allowed / "harmless",
    }
    with socket.socket(socket.AF_UNIX) as docker:
        docker.bind(os.path.relpath(allowed / "docker.sock"))
        async with agents(ATTACKER) as host:
            permitted = {"allowedRoots": [{"path": str(allowed), "allowReadWrite": True}], "nonMainReadOnly": False}
            host.target.settings.mount_list.write_text(json.dumps(permitted))
            (allowed / "notes").mkdir()
            mounts = [GroupMount(str(path), name, is_writable=True) for name, path in paths.items()]
            group = await host.add_group(mounts=(*mounts, GroupMount(str(allowed / "notes"), "notes")))
            run = await attack(host, group, "emit(' '.join(sorted(os.listdir('/workspace/extra'))))")
            assert run.result == "notes"
            log = log_of(host, group, run)
            for path in paths.values():
                assert any("warning: " in line and str(path) in line for line in log.splitlines()), path
            lines = await host.app.service.runs.lines(LOCAL, run.id)
            assert sum(each.line.level == "warning" for each in lines) == len(paths)


@in_both
async def test_hostile_request_files_from_inside_are_refused_and_kept_for_the_operator(agents: OpenAgents) -> None:
    async with agents(ATTACKER) as host:
        group = await host.add_group()
        run = await attack(host, group, HOSTILE_FILES)
        assert run.result == "written", run.error
        (row,) = await serve(host, "request.refused")
        answered = answers(host, group)
        hostile = {"1-inside", "2-outside", "3-hard", "4-fifo", "5-directory", "6-half"}
        assert {name: answered[name].get("code") for name in hostile} == dict.fromkeys(hostile, "request_unreadable")
        assert row["refused"] == len(hostile)
        assert answered["7-good"]["status"] == "accepted"
        kept = {path.name.partition("-")[2] for path in (host.target.workspace.quarantine / "family").iterdir()}
        assert kept == {f"{name}.json" for name in hostile}
        tasks = await host.app.service.tasks.count(LOCAL)
        assert tasks.number == 2, "the attack, and the task of the good file"


@in_both
async def test_secret_of_a_turn_is_in_no_argument_environment_log_or_store(agents: OpenAgents, tmp_path: Path) -> None:
    """While the agent has it, and lives: neither its own processes nor those of the runtime show it."""
    value = token_hex(24)
    async with agents(secrets=["MODEL_KEY"]) as host:
        await host.app.service.secrets.set(LOCAL, "MODEL_KEY", value)
        group = await host.add_group()
        await host.post(group, "input")
        await host.ask_turn(group)
        (answer,) = await host.until(lambda: host.answers(group))
        assert json.loads(answer)["secrets"] == {"MODEL_KEY": "•••"}
        assert host.target.live.find("family") is not None, "the agent is live and idle"
        assert [name for name, text in processes() if value.encode() in text] == []
        kept = [path for path in tmp_path.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]
        assert kept == []
