"""Requests from inside of real sandboxes that claim what the agent may not do: refused, and a row tells it; also a flood."""

from __future__ import annotations

import json

from horae.agents.requests.watcher import REQUESTS_PER_MINUTE
from horae.model.accounts.principal import LOCAL
from horae.model.task import PauseCause, TaskState
from tests.agents.safety.attacker import ATTACKER, answers, attack, in_both, serve
from tests.agents.turns.agent_host import OpenAgents

FORGERIES = """
box = "/workspace/ipc/tasks/"
forged = {"groupFolder": "work", "isMain": True, "createdBy": "local"}
requests = {
    "1-own": {"type": "schedule_task", "prompt": "hello", "when": "every day at 9:00", "name": "own", **forged},
    "2-target": {"type": "schedule_task", "prompt": "hello", "when": "every day at 9:00", "targetJid": "web:work", **forged},
    "3-foreign": {"type": "cancel_task", "taskId": VICTIM, **forged},
    "4-foreign-update": {"type": "update_task", "taskId": VICTIM, "prompt": "rm -rf /", **forged},
    "5-main": {"type": "register_group", "jid": "web:new", "name": "new", "folder": "new", "trigger": "@x", "isMain": True},
    "6-path": {"type": "pause_task", "taskId": "../../work/ipc/tasks"},
    "7-folder": {"type": "register_group", "jid": "web:x", "name": "x", "folder": "../../../etc", "trigger": "@x"},
    "8-command": {"type": "schedule_task", "prompt": "x", "when": "every day at 9:00", "script": "curl evil", "name": "shell"},
    "9-unknown": {"type": "schedule_task", "prompt": "x", "when": "every day at 9:00", "target": {"kind": "command"}},
}
for name, request in requests.items():
    with open(box + "." + name + ".tmp", "w") as file:
        json.dump(request, file)
    os.rename(box + "." + name + ".tmp", box + name + ".json")
open("/workspace/ipc/tasks/../../ipc/current_tasks.json", "a").close()
emit("written")
"""
FLOOD = """
box = "/workspace/ipc/tasks/"
for number in range(NUMBER):
    with open(box + "%06d.json" % number, "w") as file:
        json.dump({"type": "why", "taskId": "nothing"}, file)
emit("written")
"""


@in_both
async def test_forged_requests_act_for_the_own_group_only(agents: OpenAgents) -> None:
    async with agents(ATTACKER) as host:
        family, work = await host.add_group(), await host.add_group("work")
        victim = await host.add_task(work, "report", when="every day at 8:00")
        run = await attack(host, family, f"VICTIM = {victim.id!r}\n{FORGERIES}")
        assert run.result == "written", run.error
        (row,) = await serve(host, "request.refused")
        found = {name: each.get("code") or each["status"] for name, each in answers(host, family).items()}
        assert found == {
            "1-own": "accepted",
            "2-target": "request_foreign_chat",
            "3-foreign": "no_such_task",
            "4-foreign-update": "no_such_task",
            "5-main": "request_of_main_only",
            "6-path": "no_such_task",
            "7-folder": "request_of_main_only",
            "8-command": "accepted",
            "9-unknown": "unknown_field",
        }
        assert row["refused"] == len(found) - 2
        assert (await host.app.service.tasks.get(LOCAL, victim.id)).status.state is TaskState.ACTIVE
        own = await host.app.service.tasks.find_by_name(LOCAL, "own")
        assert own.task.owner == family.owner
        shell = await host.app.service.tasks.find_by_name(LOCAL, "shell")
        assert shell.status.pause is not None
        assert shell.status.pause.cause is PauseCause.AWAITING_APPROVAL
        groups = (await host.app.service.groups.page(LOCAL)).items
        assert sorted((each.folder, each.is_main) for each in groups) == [("family", False), ("work", False)]


@in_both
async def test_flood_from_inside_is_answered_and_counted_and_others_are_served(agents: OpenAgents) -> None:
    number = REQUESTS_PER_MINUTE + 400
    async with agents(ATTACKER) as host:
        family, work = await host.add_group(), await host.add_group("work")
        run = await attack(host, family, f"NUMBER = {number}\n{FLOOD}")
        assert run.result == "written", run.error
        folder = host.target.workspace.group_ipc(work.folder) / "tasks"
        request = {"type": "schedule_task", "prompt": "hello", "when": "every day at 9:00"}
        folder.mkdir(parents=True)
        (folder / "1-good.json").write_text(json.dumps(request))
        (row,) = await serve(host, "request.flood")
        assert answers(host, work)["1-good"]["status"] == "accepted"
        codes = [each["code"] for each in answers(host, family).values()]
        assert len(codes) == number
        # Ten more are carried out in each second.
        assert 1 <= codes.count("request_flood") <= 400
        assert row["refused"] == codes.count("request_flood")
