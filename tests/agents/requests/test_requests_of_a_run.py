"""Requests of a real run in bubblewrap: snapshot before its start, a message instead of its result, the lineage of its tasks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from horae.agents.requests.request_host import RequestHost
from horae.model.run import RunState
from horae.ports.store import TaskFilter
from tests.agents.turns.agent_host import open_host
from tests.servers.programs import program

SCRIPT = """
cat > /dev/null
cd /workspace/ipc
grep -q groupFolder current_tasks.json || exit 7
ask() {
    printf '%s' "$3" > "$1/.$2.tmp" && mv "$1/.$2.tmp" "$1/$2"
    until test -e "answers/$2"; do sleep 0.05; done
}
ask messages 1-a.json '{"type": "message", "text": "by request"}'
ask tasks 2-a.json '{"type": "schedule_task", "prompt": "later", "when": "every 1h"}'
: > input/_close
echo result
"""
AGENT = ("horae-agent", "--poll", "0.02", "--mind", "command", "--", "sh", "-c", SCRIPT)


async def test_run_sends_a_message_and_makes_a_task_by_requests() -> None:
    program("bwrap", package="bubblewrap")
    with TemporaryDirectory(prefix="horae-") as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        async with open_host(folder, AGENT, runtime="bubblewrap") as host, asyncio.TaskGroup() as jobs:
            requests = RequestHost(host.app.service, host.app.clock, host.target.workspace)
            host.target.before_start = requests.write_snapshots
            watching = jobs.create_task(requests.run())
            group = await host.add_group()
            task = await host.add_task(group, "go")
            run = await host.ended(task)
            assert (run.state, run.error) == (RunState.SUCCEEDED, None)
            assert [each.text for each in await host.deliveries(group)] == ["by request"]
            found = (await host.store.tasks(TaskFilter(group.owner))).items
            (made,) = [each.task for each in found if each.task.id != task.id]
            labels = dict(made.labels)
            assert (labels["horae/depth"], labels["horae/run"]) == ("1", run.id)
            await requests.snapshots.refresh()
            path = host.target.workspace.group_ipc(group.folder) / "current_tasks.json"
            assert made.id in {each["id"] for each in json.loads(path.read_text(encoding="utf-8"))}
            watching.cancel()
