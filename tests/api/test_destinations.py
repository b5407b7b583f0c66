"""Destinations over HTTP: the URL is write-only, fields are checked, and a task's notify policy goes through."""

from __future__ import annotations

from typing import Any

from tests.api.api_server import TASK, serve_api


async def test_url_is_never_returned() -> None:
    async with serve_api() as api:
        made = await api.put("/v1/destinations/ops", {"url": "json://host/SecretToken", "quiet": "22:00-07:00"})
        assert made.status == 200, made.text
        replies = [
            made,
            await api.get("/v1/destinations"),
            await api.get("/v1/destinations/ops"),
            await api.post("/v1/destinations/ops/test"),
            await api.get("/v1/destinations/ops/notices"),
        ]
        assert not any("SecretToken" in reply.text for reply in replies)
        assert (made.json["url"], made.json["quiet"], made.json["reminders"]) == ("json://…", "22:00-07:00", True)
        assert replies[3].json["attempts"][0]["ok"] is True
        assert [each["on"] for each in replies[4].json["items"]] == ["test"]
        assert (await api.get("/v1/destinations/ops")).json["last"]["ok"] is True


async def test_fields_are_checked_and_null_removes_the_quiet_hours() -> None:
    async with serve_api() as api:
        await api.put("/v1/destinations/ops", {"url": "json://host/", "quiet": "22:00-07:00"})
        assert (await api.put("/v1/destinations/ops", {"zone": "Mars"})).status == 422
        wrong_types: tuple[dict[str, Any], ...] = ({"zone": True}, {"zone": []}, {"quiet": 5}, {"reminders": 1})
        for body in (*wrong_types, {"quiet": "late"}, {"language": "fr"}, {"unknown": 1}):
            refused = await api.put("/v1/destinations/ops", body)
            assert refused.status == 422, body
            (field,) = body
            assert [each["pointer"] for each in refused.json["errors"]] == [f"/{field}"]
        assert (await api.put("/v1/destinations/ops", {"quiet": None})).json["quiet"] is None
        assert (await api.put("/v1/destinations/new", {})).code == "destination_url_missing"


async def test_dry_run_stores_nothing() -> None:
    async with serve_api() as api:
        assert (await api.put("/v1/destinations/ops?dry_run=true", {"url": "json://host/"})).status == 200
        assert (await api.get("/v1/destinations/ops")).status == 404


async def test_policy_of_a_task_goes_through_and_an_unknown_name_is_refused() -> None:
    async with serve_api() as api:
        task = {**TASK, "policies": {"notify": {"to": ["ops"], "on": ["failed", "overdue"]}}}
        refused = await api.post("/v1/tasks", task)
        assert (refused.status, refused.code) == (422, "unknown_destination")
        assert "horae notify add ops" in refused.json["hint"]
        assert refused.json["errors"][0]["pointer"] == "/policies/notify/to"
        await api.put("/v1/destinations/ops", {"url": "json://host/"})
        made = (await api.post("/v1/tasks", task)).json
        assert made["policies"]["notify"] == {"to": ["ops"], "on": ["failed", "overdue"]}
        assert made["policies"]["notify_after"] == 1
        edited = await api.patch(f"/v1/tasks/{made['id']}", {"policies": {"notify": None}})
        assert edited.json["policies"]["notify"] is None
        wrong: list[dict[str, Any]] = [
            {"to": []},
            {"to": "ops"},
            {"to": ["ops"], "on": ["started"]},
            {"on": ["failed"]},
        ]
        for policy in (*wrong, {"to": [7]}):
            reply = await api.post("/v1/tasks", {**TASK, "policies": {"notify": policy}})
            assert reply.status == 422, (policy, reply.text)
