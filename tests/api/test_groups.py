"""Groups over HTTP: registration, conditions, pointers of refusals, dry runs, and what only admins may do."""

from __future__ import annotations

from typing import Any

from tests.api.api_server import serve_api

FAMILY = {"folder": "family", "chat": "telegram:-100", "zone": "Asia/Shanghai", "timeout": "5m"}


async def test_group_is_registered_listed_changed_and_removed() -> None:
    async with serve_api() as api:
        made = await api.post("/v1/groups", FAMILY, who="admin")
        assert made.status == 201, made.text
        assert made.headers["location"] == "/v1/groups/family"
        assert (made.json["owner"], made.json["timeout"], made.json["waiting"]) == ("group:family", "PT5M", 0)
        listed = (await api.get("/v1/groups", who="admin")).json["items"]
        assert [each["folder"] for each in listed] == ["family"]
        mounts = [{"path": "/srv/photos", "name": "photos", "writable": True}]
        body = {"zone": None, "stopped": True, "memory_megabytes": 64, "max_run": "PT2H", "mounts": mounts}
        changed = (await api.patch("/v1/groups/family", body, who="admin")).json
        assert {name: changed[name] for name in body} == body
        assert (await api.get("/v1/groups/family", who="admin")).json == changed
        assert (await api.delete("/v1/groups/family", who="admin")).status == 204
        assert (await api.get("/v1/groups/family", who="admin")).code == "no_such_group"


async def test_bad_fields_are_refused_with_a_pointer() -> None:
    async with serve_api() as api:
        await api.post("/v1/groups", FAMILY, who="admin")
        bad: list[tuple[dict[str, Any], str]] = [
            ({"chat": "nowhere"}, "/chat"),
            ({"timeout": "soon"}, "/timeout"),
            ({"idle": "2d"}, "/idle"),
            ({"max_run": "8d"}, "/max_run"),
            ({"main": 1}, "/main"),
            ({"processors": "x"}, "/processors"),
            ({"mounts": [{"path": "srv", "name": "a"}]}, "/mounts"),
            ({"mounts": [{"path": "/srv"}]}, "/mounts/name"),
            ({"mounts": {}}, "/mounts"),
            ({"node": 1}, "/node"),
            ({"name": None}, "/name"),
            ({"unknown": 1}, "/unknown"),
        ]
        for body, pointer in bad:
            refused = await api.patch("/v1/groups/family", body, who="admin")
            assert refused.status == 422, (body, refused.text)
            assert [each["pointer"] for each in refused.json["errors"]] == [pointer], body
        assert (await api.post("/v1/groups", {"folder": "x"}, who="admin")).json["errors"][0]["pointer"] == "/chat"
        for folder in ("global", "../x", "a b", ""):
            refused = await api.post("/v1/groups", {**FAMILY, "folder": folder}, who="admin")
            assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "/folder")
        taken = await api.post("/v1/groups", {**FAMILY, "folder": "other"}, who="admin")
        assert (taken.status, taken.code) == (409, "chat_taken")


async def test_condition_and_dry_run() -> None:
    async with serve_api() as api:
        assert (await api.post("/v1/groups?dry_run=true", FAMILY, who="admin")).status == 200
        assert (await api.get("/v1/groups/family", who="admin")).status == 404
        tag = (await api.post("/v1/groups", FAMILY, who="admin")).headers["etag"]
        await api.patch("/v1/groups/family?dry_run=true", {"stopped": True}, who="admin")
        condition = {"If-Match": tag}
        assert (await api.patch("/v1/groups/family", {"stopped": True}, who="admin", headers=condition)).status == 200
        stale = await api.patch("/v1/groups/family", {"stopped": False}, who="admin", headers=condition)
        assert (stale.status, stale.code) == (412, "version_changed")


async def test_main_flag_is_set_by_admins_only() -> None:
    async with serve_api() as api:
        await api.post("/v1/groups", FAMILY, who="admin")
        for who in ("ada", "robot"):
            assert (await api.patch("/v1/groups/family", {"main": True}, who=who)).status == 403
        assert (await api.get("/v1/groups/family", who="admin")).json["main"] is False


async def test_prompt_for_a_group_by_its_shorthand() -> None:
    async with serve_api() as api:
        await api.post("/v1/groups", FAMILY, who="admin")
        agent = {"group": "family", "prompt": "Summarise the day", "context_mode": "series"}
        task = {"name": "summary", "when": "every day at 9:00", "agent": agent}
        made = await api.post("/v1/tasks", task, who="admin")
        assert made.status == 201, made.text
        assert (made.json["owner"], made.json["payload"]) == ("group:family", {"prompt": "Summarise the day"})
        assert made.json["target"] == {"kind": "agent", "group": "family", "context_mode": "series"}
        assert (await api.post("/v1/tasks", task)).status in (403, 404, 422)
        both = await api.post("/v1/tasks", {**task, "say": "x"}, who="admin")
        assert both.code == "two_targets"
        wrong = await api.post("/v1/tasks", {**task, "agent": {"group": "family", "promt": "x"}}, who="admin")
        assert (wrong.status, wrong.code) == (422, "unknown_field")
        wrong = await api.post("/v1/tasks", {**task, "payload": [1]}, who="admin")
        assert wrong.json["errors"][0]["pointer"] == "/payload"
        by_name = await api.post("/v1/tasks", {**task, "agent": "family", "payload": {"prompt": "hi"}}, who="admin")
        assert by_name.json["payload"] == {"prompt": "hi"}
