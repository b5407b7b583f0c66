"""Owners, tokens, secrets, agents, lanes, nodes, the audit trail, and callbacks of waiting runs over HTTP."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.outcome import Settlement, Waiting
from horae.outgoing.signatures import callback_token
from horae.ports.journal import Line
from horae.ports.store import Node
from tests.api.api_server import Api, serve_api


async def test_admin_lists_all_owners_and_a_member_only_itself() -> None:
    async with serve_api() as api:
        assert [each["name"] for each in (await api.get("/v1/owners")).json["items"]] == ["ada"]
        all_owners = (await api.get("/v1/owners", who="admin")).json["items"]
        assert {each["name"] for each in all_owners} == {"local", "ada", "bob", "vic"}
        made = await api.put("/v1/owners/eve", {"role": "viewer", "quotas": {"active_tasks": 3}}, who="admin")
        assert (made.status, made.json["role"], made.json["quotas"]["active_tasks"]) == (200, "viewer", 3)
        tag = made.headers["etag"]
        changed = await api.put("/v1/owners/eve", {"note": "x"}, who="admin", headers={"If-Match": tag})
        assert changed.json["version"] == 2
        assert (await api.put("/v1/owners/eve", {"note": "y"}, who="admin", headers={"If-Match": tag})).status == 412
        assert (await api.put("/v1/owners/eve", {"role": "king"}, who="admin")).code == "bad_choice"
        assert (await api.put("/v1/owners/eve", {"role": "admin"})).status == 403
        assert (await api.get("/v1/owners/bob")).code == (await api.get("/v1/owners/absent")).code == "no_such_owner"


async def test_revoked_token_is_refused() -> None:
    async with serve_api() as api:
        made = await api.post("/v1/tokens", {"name": "deploy", "scopes": ["tasks:read"]})
        assert (made.status, made.headers["location"]) == (201, f"/v1/tokens/{made.json['id']}")
        api.tokens["deploy"] = made.json["text"]
        assert (await api.get("/v1/tasks", who="deploy")).status == 200
        assert (await api.post("/v1/tasks", {"name": "x", "when": "now", "say": "x"}, who="deploy")).status == 403
        assert "text" not in (await api.get(f"/v1/tokens/{made.json['id']}")).json
        assert (await api.delete(f"/v1/tokens/{made.json['id']}", who="bob")).status == 404
        assert (await api.delete(f"/v1/tokens/{made.json['id']}")).json["revoked"] is not None
        assert (await api.get("/v1/tasks", who="deploy")).code == "bad_token"
        for body in (
            {},
            {"name": "x", "scopes": ["admin"]},
            {"name": "x", "scopes": []},
            {"name": "x", "scopes": ["everything"]},
            {"name": "x", "expires": "2001-01-01T00:00:00Z"},
            {"name": "x", "expires": "2099-01-01"},
            {"name": "x", "owner": "bob"},
        ):
            assert (await api.post("/v1/tokens", body)).status in (403, 404, 422), body


async def test_token_of_a_revoked_owner_is_refused_within_seconds() -> None:
    async with serve_api() as api:
        assert (await api.get("/v1/tasks")).status == 200
        assert (await api.post("/v1/owners/ada/revoke", who="admin")).status == 200
        clock = api.app.context.clock
        began = clock.steady()
        while (await api.get("/v1/tasks")).status != 401:
            assert clock.steady() - began < 5
        assert (await api.post("/v1/owners/ada/restore", who="admin")).status == 200


async def test_secret_is_granted_to_an_agent_and_reviewed_before_the_approval() -> None:
    async with serve_api() as api:
        await api.put("/v1/secrets/key", {"value": "hush-hush"})
        target = {"url": "https://example.org/", "headers": {"X-Key": {"secret": "key"}, "X-Odd": "caf\u00e9"}}
        body = {
            "name": "call",
            "when": "every 1h, 3 times",
            "zone": "UTC",
            "http": target,
            "payload": {"a": "b\u200bc"},
        }
        refused = await api.post("/v1/tasks", body, who="robot")
        assert (refused.status, refused.code) == (403, "secret_not_granted")
        assert (await api.post("/v1/tasks/bulk", {"tasks": [body]}, who="robot")).code == "secret_not_granted"
        assert (await api.put("/v1/tasks/by-key/k", body, who="robot")).code == "secret_not_granted"
        assert (await api.put("/v1/secrets/key/agents/robot", None, who="bob")).code == "no_such_secret"
        granted = await api.put("/v1/secrets/key/agents/robot", None)
        assert granted.json["agents"] == ["robot"]
        made = await api.post("/v1/tasks", body, who="robot")
        assert made.status == 201, made.text
        review = (await api.get(f"/v1/tasks/{made.json['id']}/review")).json
        assert review["awaiting_approval"] is True
        assert review["secrets"] == [{"name": "key", "path": "target.headers.X-Key"}]
        assert 'payload.a = "b\\u200bc"' in review["lines"]
        assert review["lines"][0].startswith('SECRET "key"')
        await api.delete("/v1/secrets/key/agents/robot")
        approve = f"/v1/tasks/{made.json['id']}/approve"
        assert (await api.post(approve, {"digest": review["digest"]})).code == "secret_not_granted"
        await api.put("/v1/secrets/key/agents/robot", None)
        assert (await api.post(approve, {"digest": review["digest"]})).json["state"] == "active"


async def test_revoked_agent_token_pauses_the_tasks_of_the_agent() -> None:
    async with serve_api() as api:
        await check_tasks_of_a_revoked_agent(api)


async def check_tasks_of_a_revoked_agent(api: Api) -> None:
    body = {"name": "look", "when": "every 1h", "zone": "UTC", "say": "hello"}
    made = (await api.post("/v1/tasks", body, who="robot")).json
    function = {**body, "name": "call", "say": None, "function": "report"}
    assert (await api.post("/v1/tasks", function, who="robot")).json["pause"]["cause"] == "awaiting_approval"
    tokens = (await api.get("/v1/tokens")).json["items"]
    (token,) = [each["id"] for each in tokens if each["agent"] == "robot"]
    assert (await api.delete(f"/v1/tokens/{token}")).json["revoked"] is not None
    shown = (await api.get(f"/v1/tasks/{made['id']}")).json
    assert (shown["state"], shown["pause"]["cause"]) == ("paused", "owner_revoked")
    why = (await api.get(f"/v1/tasks/{made['id']}/why")).json
    assert why["reason"] == "owner_revoked"
    assert (await api.post(f"/v1/tasks/{made['id']}/run", None)).code == "agent_revoked"
    assert (await api.post("/v1/agents/robot/restart", None)).code == "agent_revoked"
    assert (await api.get("/v1/agents/robot")).json["revoked"] is True
    limits = {"quotas": {"active_tasks": 3, "longest_life": "never"}}
    assert (await api.put("/v1/agents/robot?owner=ada", limits, who="ada")).status == 403
    assert (await api.put("/v1/agents/robot?owner=ada", limits, who="admin")).json["quotas"]["active_tasks"] == 3


async def test_secret_values_are_never_returned() -> None:
    async with serve_api() as api:
        for path, body in (
            ("/v1/secrets/key", {"value": "hush-hush"}),
            ("/v1/secrets/key?dry_run=true", {"value": "new"}),
        ):
            reply = await api.put(path, body)
            assert (reply.status, set(reply.json)) == (200, {"name", "owner", "updated", "agents"})
        listed = await api.get("/v1/secrets")
        assert [each["name"] for each in listed.json["items"]] == ["key"]
        assert await api.service.secrets.reveal("ada", "key") == "hush-hush"
        assert (await api.get("/v1/secrets", who="bob")).json["items"] == []
        assert (await api.delete("/v1/secrets/key", who="bob")).code == "no_such_secret"
        for odd in ({}, {"value": 7}, {"value": ""}, {"value": "x", "more": 1}):
            refused = await api.put("/v1/secrets/key", odd)
            assert refused.status == 422
        assert (await api.delete("/v1/secrets/key")).status == 204
        assert (await api.delete("/v1/secrets/key")).status == 404


async def test_owner_approves_and_stops_tasks_of_its_agent() -> None:
    async with serve_api() as api:
        body = {"name": "call", "when": "every 1h, 3 times", "zone": "UTC", "http": "https://example.org/"}
        made = (await api.post("/v1/tasks", body, who="robot")).json
        assert (made["state"], made["pause"]["cause"]) == ("paused", "awaiting_approval")
        path = f"/v1/tasks/{made['id']}"
        refused = await api.post(f"{path}/approve", {"digest": "0" * 64})
        assert refused.code == "digest_changed"
        digest = refused.json["detail"].split("its digest is ")[1].split(" ")[0]
        assert (await api.post(f"{path}/approve", {"digest": digest}, who="robot")).status == 403
        assert (await api.post(f"{path}/approve", {"digest": digest}, who="bob")).status == 404
        assert (await api.post(f"{path}/approve", {"digest": digest})).json["state"] == "active"
        assert (await api.post("/v1/agents/robot/stop")).json["tasks"] == 1
        assert (await api.post("/v1/tasks", body, who="robot")).code == "agent_stopped"
        assert (await api.post("/v1/agents/robot/restart")).json["tasks"] == 1


async def test_unknown_agents_are_not_found_also_with_dry_run() -> None:
    async with serve_api() as api:
        for path in ("/v1/agents/robbot/stop", "/v1/agents/robbot/restart"):
            for query in ("", "?dry_run=true"):
                refused = await api.post(path + query)
                assert (refused.status, refused.code) == (404, "no_such_agent"), path
        assert (await api.get("/v1/agents/robbot")).code == "no_such_agent"
        assert (await api.get("/v1/agents/robot")).status == 200
        assert (await api.post("/v1/agents/robot/stop", who="bob")).code == "no_such_agent"
        assert (await api.post("/v1/agents/robot/stop", who="admin")).code == "no_such_agent"
        assert (await api.post("/v1/agents/robot/stop?owner=ada", who="admin")).status == 200


async def test_lane_limits_and_node_draining_are_set_and_listed() -> None:
    async with serve_api() as api:
        lane = {"name": "ada/mail", "limit": 3, "taken": 0, "rate": None, "next_start_at": None}
        assert (await api.put("/v1/lanes/mail", {"limit": 3})).json == lane
        assert (await api.put("/v1/lanes/mail", {"limit": 3}, who="admin")).json["name"] == "mail"
        assert "mail" not in [each["name"] for each in (await api.get("/v1/lanes")).json["items"]]
        for odd in ({}, {"limit": -1}, {"limit": "3"}, {"limit": True}, {"limits": 3}):
            assert (await api.put("/v1/lanes/mail", odd)).status == 422, odd
        now = api.app.context.clock.now()
        await api.service.store.join(Node("nod_1", "here/1", "1", now, now, host="here"))
        assert (await api.get("/v1/nodes")).status == 403
        (node,) = (await api.get("/v1/nodes", who="admin")).json["items"]
        assert (node["id"], node["state"]) == ("nod_1", "live")
        parts = (await api.get("/readyz", who=None)).json["parts"]
        assert (parts["store"], parts["engine"]) == (True, True)
        drained = await api.post("/v1/nodes/nod_1/drain", who="admin")
        assert drained.json["items"][0]["draining"]
        back = await api.post("/v1/nodes/here/drain?host=true", {"draining": False}, who="admin")
        assert not back.json["items"][0]["draining"]


async def test_audit_trail_names_action_subject_and_request_and_verifies() -> None:
    async with serve_api() as api:
        task = await api.create_task()
        await api.post(f"/v1/tasks/{task['id']}/pause", headers={"X-Request-Id": "my-request"})
        rows = (await api.get("/v1/audit?limit=2")).json["items"]
        assert [row["action"] for row in rows] == ["task.pause", "task.create"]
        assert (rows[0]["subject"], rows[0]["request"], rows[0]["via"]) == (task["id"], "my-request", "http")
        assert (await api.get("/v1/audit", who="bob")).json["items"] == []
        for query in ("action=secret", "actor=bob", "subject=tsk_0000"):
            assert (await api.get(f"/v1/audit?{query}")).json["items"] == []
        assert (
            len((await api.get(f"/v1/audit?action=task&actor=ada&subject={rows[0]['subject'][:12]}")).json["items"]) > 0
        )
        assert (await api.get("/v1/audit/verify")).status == 403
        assert (await api.get("/v1/audit/verify", who="admin")).json["ok"]


async def test_waiting_run_is_settled_only_with_its_own_callback_token() -> None:
    async with serve_api() as api:
        task = await api.create_task(when="now")
        store, clock = api.service.store, api.app.context.clock
        now = clock.now()
        await store.join(Node("nod_1", "here/1", "1", now, now))
        claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
        claimed = await store.claim_due(
            now, "nod_1", 10, lambda facts, entry, token: fire(facts, entry, token, claimant)
        )
        (run,) = [each.run for each in claimed.runs]
        outcome = Waiting(now + timedelta(hours=1))
        await store.settle([Settlement(run.id, run.token, outcome, now, now)], settle)
        path = f"/v1/runs/{run.id}"
        assert (await api.get(path)).json["state"] == "waiting"
        reading = asyncio.ensure_future(api.get(f"{path}/logs?wait=20"))
        await asyncio.wait_for(api.get(f"{path}/logs"), 5)
        assert not reading.done(), "there is no line yet"
        await store.write_lines([Line(run.id, now, "info", "so far")])
        assert [each["text"] for each in (await reading).json["items"]] == ["so far"]
        assert (await api.get(f"{path}/logs?wait=21")).status == 422
        reading = asyncio.ensure_future(api.get(f"{path}/logs?wait=20&after=1"))
        token = callback_token(api.app.context.settings.secret, run.id, run.token)
        wrong = (None, "ada", "admin")
        assert [(await api.post(f"{path}/callback", {}, who=who)).status for who in wrong] == [401, 404, 404]
        assert (await api.post(f"{path}/callback", {}, who=None, headers={"Horae-Callback-Token": "0"})).status == 404
        proof = {"Horae-Callback-Token": token}
        later = {"until": (now + timedelta(hours=2)).isoformat()}
        assert (await api.post(f"{path}/callback", later, who=None, headers=proof)).status == 204
        assert (await api.post(f"{path}/callback", {"outcome": 1}, who=None, headers=proof)).status == 422
        bearer = {"Authorization": f"Bearer {token}"}
        assert (await api.post(f"{path}/callback", {"result": {"rows": 42}}, who=None, headers=bearer)).status == 204
        ended = (await api.get(path)).json
        assert (ended["state"], ended["result"], ended["task"]) == ("succeeded", {"rows": 42}, "report")
        assert (await api.post(f"{path}/callback", {}, who=None, headers=proof)).code == "bad_answer"
        assert (await reading).json == {"items": [], "next_after": None}, "the end of the run ends the wait"
        assert [each["id"] for each in (await api.get(f"{path}/attempts")).json["items"]] == [run.id]
        listed = (await api.get(f"/v1/runs?task={task['id']}&state=succeeded&since=yesterday")).json["items"]
        assert [each["id"] for each in listed] == [run.id]
        assert (await api.get("/v1/runs", who="bob")).json["items"] == []
        assert (await api.get(path, who="bob")).status == 404
        assert (await api.post(f"{path}/cancel")).code == "run_over"
        assert (await api.post(f"{path}/retry")).code == "nothing_to_retry"


async def test_agents_approvals_and_lane_queues_are_listed_for_their_owner() -> None:
    async with serve_api() as api:
        wish = {
            "name": "call",
            "when": "every 1h",
            "zone": "UTC",
            "target": {"kind": "http", "url": "https://example.com/"},
        }
        task = (await api.post("/v1/tasks", wish, who="robot")).json
        agents = (await api.get("/v1/agents")).json["items"]
        assert [(each["owner"], each["name"], each["stopped"]) for each in agents] == [("ada", "robot", False)]
        (review,) = (await api.get("/v1/approvals")).json["items"]
        assert (review["task_id"], review["agent"], review["awaiting_approval"]) == (task["id"], "robot", True)
        approved = await api.post(f"/v1/tasks/{task['id']}/approve", {"digest": review["digest"]})
        assert approved.status == 200
        for path in ("/v1/approvals", "/v1/lanes/queues"):
            assert (await api.get(path)).json["items"] == []
        for path in ("/v1/agents", "/v1/approvals", "/v1/lanes/queues"):
            assert (await api.get(path, who="bob")).json["items"] == []


async def test_language_of_the_account_counts_where_the_request_names_none() -> None:
    async with serve_api() as api:
        assert (await api.get("/v1/whoami")).json["language"] is None
        assert (await api.put("/v1/owners/ada", {"language": "zh"})).json["language"] == "zh"
        assert (await api.get("/v1/whoami")).json["language"] == "zh"
        absent = "/v1/tasks/tsk_" + "0" * 32
        for header, word in (("*", "没有"), ("en", "There is no")):
            assert word in (await api.get(absent, headers={"Accept-Language": header})).json["detail"]
        assert (await api.put("/v1/owners/ada", {"language": "fr"})).code == "bad_choice"
        assert (await api.put("/v1/owners/ada", {"language": ""})).json["language"] is None
