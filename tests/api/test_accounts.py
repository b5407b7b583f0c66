"""Owners, tokens, secrets, agents, lanes, nodes, the audit trail, and runs that somebody else went on with."""

from __future__ import annotations

from datetime import timedelta

from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.outcome import Settlement, Waiting
from horae.outgoing.signatures import callback_token
from horae.ports.store import Node
from tests.api.served import Api, served


async def test_owners_are_an_admins_and_everybody_sees_themselves() -> None:
    async with served() as api:
        assert [each["name"] for each in (await api.get("/v1/owners")).json["items"]] == ["ada"]
        everybody = (await api.get("/v1/owners", who="admin")).json["items"]
        assert {each["name"] for each in everybody} == {"local", "ada", "bob", "vic"}
        made = await api.put("/v1/owners/eve", {"role": "viewer", "quotas": {"active_tasks": 3}}, who="admin")
        assert (made.status, made.json["role"], made.json["quotas"]["active_tasks"]) == (200, "viewer", 3)
        tag = made.headers["etag"]
        changed = await api.put("/v1/owners/eve", {"note": "x"}, who="admin", headers={"If-Match": tag})
        assert changed.json["version"] == 2
        assert (await api.put("/v1/owners/eve", {"note": "y"}, who="admin", headers={"If-Match": tag})).status == 412
        assert (await api.put("/v1/owners/eve", {"role": "king"}, who="admin")).code == "bad_choice"
        assert (await api.put("/v1/owners/eve", {"role": "admin"})).status == 403
        assert (await api.get("/v1/owners/bob")).code == (await api.get("/v1/owners/nobody")).code == "no_such_owner"


async def test_a_revoked_token_opens_nothing_any_more() -> None:
    async with served() as api:
        made = await api.post("/v1/tokens", {"name": "deploy", "scopes": ["tasks:read"]})
        assert (made.status, made.headers["location"]) == (201, f"/v1/tokens/{made.json['id']}")
        api.tokens["deploy"] = made.json["text"]
        assert (await api.get("/v1/tasks", who="deploy")).status == 200
        assert (await api.post("/v1/tasks", {"name": "x", "when": "now", "say": "x"}, who="deploy")).status == 403
        assert "text" not in (await api.get(f"/v1/tokens/{made.json['id']}")).json
        assert (await api.delete(f"/v1/tokens/{made.json['id']}", who="bob")).status == 404
        assert (await api.delete(f"/v1/tokens/{made.json['id']}")).json["revoked"] is not None
        assert (await api.get("/v1/tasks", who="deploy")).code == "bad_token"
        for wish in (
            {},
            {"name": "x", "scopes": ["admin"]},
            {"name": "x", "scopes": []},
            {"name": "x", "scopes": ["everything"]},
            {"name": "x", "expires": "2001-01-01T00:00:00Z"},
            {"name": "x", "expires": "2099-01-01"},
            {"name": "x", "owner": "bob"},
        ):
            assert (await api.post("/v1/tokens", wish)).status in (403, 404, 422), wish


async def test_a_revoked_owner_is_out_within_a_second() -> None:
    async with served() as api:
        assert (await api.get("/v1/tasks")).status == 200
        assert (await api.post("/v1/owners/ada/revoke", who="admin")).status == 200
        clock = api.app.state.context.clock
        began = clock.steady()
        while (await api.get("/v1/tasks")).status != 401:
            assert clock.steady() - began < 5
        assert (await api.post("/v1/owners/ada/restore", who="admin")).status == 200


async def test_secret_is_granted_to_an_agent_and_reviewed_before_the_approval() -> None:
    async with served() as api:
        await grant_scene(api)


async def grant_scene(api: Api) -> None:
    await api.put("/v1/secrets/key", {"value": "hush-hush"})
    target = {"url": "https://example.org/", "headers": {"X-Key": {"secret": "key"}, "X-Odd": "caf\u00e9"}}
    wish = {"name": "call", "when": "every 1h, 3 times", "zone": "UTC", "http": target, "payload": {"a": "b\u200bc"}}
    refused = await api.post("/v1/tasks", wish, who="robot")
    assert (refused.status, refused.code) == (403, "secret_not_granted")
    assert (await api.post("/v1/tasks/bulk", {"tasks": [wish]}, who="robot")).code == "secret_not_granted"
    assert (await api.put("/v1/tasks/by-key/k", wish, who="robot")).code == "secret_not_granted"
    assert (await api.put("/v1/secrets/key/agents/robot", None, who="bob")).code == "no_such_secret"
    granted = await api.put("/v1/secrets/key/agents/robot", None)
    assert granted.json["agents"] == ["robot"]
    made = await api.post("/v1/tasks", wish, who="robot")
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


async def test_revoked_token_of_an_agent_and_viewer_stop_what_they_made() -> None:
    async with served() as api:
        await lost_rights(api)


async def lost_rights(api: Api) -> None:
    wish = {"name": "look", "when": "every 1h", "zone": "UTC", "say": "hello"}
    made = (await api.post("/v1/tasks", wish, who="robot")).json
    function = {**wish, "name": "call", "say": None, "function": "report"}
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


async def test_of_a_secret_only_its_name_comes_out() -> None:
    async with served() as api:
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


async def test_what_an_agent_made_can_be_stopped_and_approved_by_its_owner() -> None:
    async with served() as api:
        wish = {"name": "call", "when": "every 1h, 3 times", "zone": "UTC", "http": "https://example.org/"}
        made = (await api.post("/v1/tasks", wish, who="robot")).json
        assert (made["state"], made["pause"]["cause"]) == ("paused", "awaiting_approval")
        path = f"/v1/tasks/{made['id']}"
        refused = await api.post(f"{path}/approve", {"digest": "0" * 64})
        assert refused.code == "digest_changed"
        digest = refused.json["detail"].split("its digest is ")[1].split(" ")[0]
        assert (await api.post(f"{path}/approve", {"digest": digest}, who="robot")).status == 403
        assert (await api.post(f"{path}/approve", {"digest": digest}, who="bob")).status == 404
        assert (await api.post(f"{path}/approve", {"digest": digest})).json["state"] == "active"
        assert (await api.post("/v1/agents/robot/stop")).json["tasks"] == 1
        assert (await api.post("/v1/tasks", wish, who="robot")).code == "agent_stopped"
        assert (await api.post("/v1/agents/robot/restart")).json["tasks"] == 1


async def _unknown_agents(api: Api) -> None:
    for path in ("/v1/agents/robbot/stop", "/v1/agents/robbot/restart"):
        for query in ("", "?dry_run=true"):
            refused = await api.post(path + query)
            assert (refused.status, refused.code) == (404, "no_such_agent"), path
    assert (await api.get("/v1/agents/robbot")).code == "no_such_agent"
    assert (await api.get("/v1/agents/robot")).status == 200
    assert (await api.post("/v1/agents/robot/stop", who="bob")).code == "no_such_agent"
    assert (await api.post("/v1/agents/robot/stop", who="admin")).code == "no_such_agent"
    assert (await api.post("/v1/agents/robot/stop?owner=ada", who="admin")).status == 200


async def test_unknown_agents_are_not_found_also_in_a_rehearsal() -> None:
    async with served() as api:
        await _unknown_agents(api)


async def test_lanes_and_nodes_are_told_and_set() -> None:
    async with served() as api:
        assert (await api.put("/v1/lanes/mail", {"limit": 3})).json == {"name": "ada/mail", "limit": 3, "taken": 0}
        assert (await api.put("/v1/lanes/mail", {"limit": 3}, who="admin")).json["name"] == "mail"
        assert "mail" not in [each["name"] for each in (await api.get("/v1/lanes")).json["items"]]
        for odd in ({}, {"limit": -1}, {"limit": "3"}, {"limit": True}, {"limits": 3}):
            assert (await api.put("/v1/lanes/mail", odd)).status == 422, odd
        now = api.app.state.context.clock.now()
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


async def test_the_audit_trail_says_who_did_what_and_is_whole() -> None:
    async with served() as api:
        task = await api.made()
        await api.post(f"/v1/tasks/{task['id']}/pause", headers={"X-Request-Id": "my-request"})
        rows = (await api.get("/v1/audit?limit=2")).json["items"]
        assert [row["action"] for row in rows] == ["task.pause", "task.create"]
        assert (rows[0]["subject"], rows[0]["request"], rows[0]["via"]) == (task["id"], "my-request", "http")
        assert (await api.get("/v1/audit", who="bob")).json["items"] == []
        assert (await api.get("/v1/audit/verify")).status == 403
        assert (await api.get("/v1/audit/verify", who="admin")).json["ok"]


async def test_whoever_went_on_with_a_run_answers_with_its_own_token_and_no_other() -> None:
    async with served() as api:
        task = await api.made(when="now")
        store, clock = api.service.store, api.app.state.context.clock
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
        token = callback_token(api.app.state.context.settings.secret, run.id, run.token)
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
        assert (await api.get(f"{path}/logs")).json == {"items": [], "next_after": None}
        assert [each["id"] for each in (await api.get(f"{path}/attempts")).json["items"]] == [run.id]
        listed = (await api.get(f"/v1/runs?task={task['id']}&state=succeeded&since=yesterday")).json["items"]
        assert [each["id"] for each in listed] == [run.id]
        assert (await api.get("/v1/runs", who="bob")).json["items"] == []
        assert (await api.get(path, who="bob")).status == 404
        assert (await api.post(f"{path}/cancel")).code == "run_over"
        assert (await api.post(f"{path}/retry")).code == "nothing_to_retry"
