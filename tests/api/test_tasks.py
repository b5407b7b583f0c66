"""Tasks over HTTP: create, list, read, edit, act on, delete; dry runs; bulk creation and bulk actions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from tests.api.api_server import TASK, serve_api

WEEKDAYS: Final = {**TASK, "when": "every weekday at 9am", "zone": "Asia/Shanghai"}


async def test_created_task_is_returned_with_its_meaning_and_next_runs() -> None:
    async with serve_api() as api:
        reply = await api.post("/v1/tasks", {**WEEKDAYS, "payload": {"n": 1}, "labels": {"team": "ops"}})
        assert reply.status == 201
        made = reply.json
        assert reply.headers["location"] == f"/v1/tasks/{made['id']}"
        assert made["owner"] == "ada"
        assert made["zone"] == "Asia/Shanghai"
        assert "09:00" in made["means"]
        assert len(made["next_runs"]) == 5
        assert all(each["at_local"].endswith("T09:00:00.000+08:00") for each in made["next_runs"])
        assert made["next"] == made["next_runs"][0]["at"]
        assert not made["dry_run"]
        found = (await api.get(reply.headers["location"])).json
        assert {name: made[name] for name in found} == found


async def test_default_zone_of_the_owner_is_used_with_a_warning() -> None:
    async with serve_api() as api:
        assert (await api.put("/v1/owners/ada", {"zone": "Europe/Berlin"})).status == 200
        # The server caches a token for half a second; a new token is not cached.
        api.tokens["ada"] = (await api.post("/v1/tokens", {"name": "second"})).json["text"]
        made = (await api.post("/v1/tasks", {"name": "x", "when": "every day at 9am", "say": "x"})).json
        assert made["zone"] == "Europe/Berlin"
        assert "no_zone" in [each["code"] for each in made["warnings"]]
        named = (await api.post("/v1/tasks", {"name": "x", "when": "every day at 9am Asia/Tokyo", "say": "x"})).json
        assert named["zone"] == "Asia/Tokyo"
        assert "no_zone" not in [each["code"] for each in named["warnings"]]


async def test_dry_run_validates_like_the_request_and_writes_nothing() -> None:
    async with serve_api() as api:
        tried = await api.post("/v1/tasks?dry_run=true", TASK)
        assert (tried.status, tried.json["dry_run"]) == (200, True)
        assert "location" not in tried.headers
        assert (await api.get("/v1/tasks")).json["items"] == []
        task = await api.create_task()
        path = f"/v1/tasks/{task['id']}"
        before = (await api.get(path)).json
        for method, end, body in (
            ("POST", "/pause", None),
            ("POST", "/skip", {"number": 3}),
            ("POST", "/run", None),
            ("POST", "/cancel", None),
            ("PATCH", "", {"name": "other", "when": "every 1h"}),
            ("PUT", "", {**TASK, "name": "other"}),
            ("DELETE", "", None),
        ):
            assert (await api.request(method, f"{path}{end}?dry_run=true", body)).status in (200, 202, 204)
        assert (await api.get(path)).json == before
        tried = await api.patch(f"{path}?dry_run=true", {"name": "other", "when": "every 1h"})
        assert tried.json["name"] == "other"
        assert set(tried.json["changed"]) == {"name", "when"}
        assert tried.json["removed"]
        assert (await api.post(f"{path}/resume?dry_run=true", {"missed": "never"})).status == 422
        others: dict[str, Any] = {"/v1/tokens": {"name": "x"}, "/v1/tasks/bulk": {"tasks": [TASK]}}
        for other, new in others.items():
            assert (await api.post(f"{other}?dry_run=true", new)).status == 200
        assert len((await api.get("/v1/tasks")).json["items"]) == 1
        assert all(each["name"] != "x" for each in (await api.get("/v1/tokens")).json["items"])


async def test_list_is_filtered_and_paged_and_a_cursor_is_bound_to_its_query() -> None:
    async with serve_api() as api:
        made = [await api.create_task(name=f"task {number}", labels={"odd": str(number % 2)}) for number in range(7)]
        await api.post(f"/v1/tasks/{made[0]['id']}/pause")
        seen: list[str] = []
        path = "/v1/tasks?limit=3"
        while path:
            reply = await api.get(path)
            page = reply.json
            seen += [each["id"] for each in page["items"]]
            path = "" if page["next_cursor"] is None else f"/v1/tasks?limit=3&cursor={page['next_cursor']}"
            assert ("link" in reply.headers) == bool(path)
        assert seen == [each["id"] for each in made]
        for query, number in (
            ("state=paused", 1),
            ("state=active,paused", 7),
            ("label=odd%3D1", 3),
            ("text=TASK%206", 1),
            ("name=task%201", 1),
            ("kind=event", 7),
            ("kind=http", 0),
            ("lane=none", 0),
            (f"prefix={made[3]['id']}", 1),
            ("sort=next", 6),
            ("sort=next&state=active&limit=2", 2),
        ):
            assert len((await api.get(f"/v1/tasks?{query}")).json["items"]) == number, query
        cursor = (await api.get("/v1/tasks?limit=3&state=active")).json["next_cursor"]
        assert (await api.get(f"/v1/tasks?limit=2&state=active&cursor={cursor}")).status == 200
        for wrong in (
            f"state=paused&cursor={cursor}",
            f"cursor={cursor}",
            "cursor=AAAA",
            "cursor=%00",
            f"state=active&cursor={cursor}A",
        ):
            assert (await api.get(f"/v1/tasks?{wrong}")).code == "bad_cursor", wrong
        assert (await api.get(f"/v1/tasks?state=active&cursor={cursor}", who="bob")).code == "bad_cursor"


async def test_patch_changes_given_fields_and_put_replaces_all() -> None:
    async with serve_api() as api:
        task = await api.create_task(labels={"a": "1"}, policies={"retries": 1, "priority": 5})
        path = f"/v1/tasks/{task['id']}"
        edited = (await api.patch(path, {"when": "every 1h"})).json
        assert edited["when"]["interval"] == "PT1H"
        assert edited["version"] == 2
        assert edited["labels"] == {"a": "1"}
        assert edited["policies"]["priority"] == 5
        assert edited["changed"].keys() == {"when"}
        replaced = (await api.put(path, {**TASK, "name": "other"})).json
        assert (replaced["name"], replaced["labels"], replaced["policies"]["priority"]) == ("other", {}, 0)
        assert replaced["policies"]["retry"]["attempts"] == 4
        again = await api.put(path, (await api.get(path)).json)
        assert again.json["changed"] == {}
        assert (await api.put(path, {**TASK, "key": "k"})).code == "bad_choice"
        assert (await api.put(path, {**TASK, "owner": "bob"})).code == "bad_choice"
        assert (await api.patch(path, {"key": "k"})).code == "unknown_field"


async def test_etag_answers_304_and_if_match_prevents_lost_updates() -> None:
    async with serve_api() as api:
        path = f"/v1/tasks/{(await api.create_task())['id']}"
        first = await api.get(path)
        tag = first.headers["etag"]
        assert tag.startswith('"1-')
        same = await api.get(path, headers={"If-None-Match": tag})
        assert (same.status, same.text) == (304, "")
        assert same.headers["etag"] == tag
        assert (await api.get(path, headers={"If-None-Match": f'"x", W/{tag}'})).status == 304
        assert (await api.patch(path, {"name": "mine"}, headers={"If-Match": tag})).status == 200
        late = await api.patch(path, {"name": "theirs"}, headers={"If-Match": tag})
        assert (late.status, late.code) == (412, "version_changed")
        assert "version 2" in late.json["detail"]
        for method, end in (("DELETE", ""), ("POST", "/pause"), ("POST", "/cancel"), ("PUT", "")):
            body = TASK if method == "PUT" else None
            assert (await api.request(method, path + end, body, headers={"If-Match": tag})).status == 412, (method, end)
        assert (await api.get(path)).json["name"] == "mine"
        assert (await api.patch(path, {"name": "any"}, headers={"If-Match": "*"})).status == 200
        assert (await api.patch(path, {"name": "one"}, headers={"If-Match": '"9-0", "3-0"'})).status == 200
        assert (await api.patch(path, {"name": "weak"}, headers={"If-Match": 'W/"4-0"'})).status == 412
        assert (await api.patch(path, {"name": "odd"}, headers={"If-Match": "4"})).code == "bad_condition"
        assert (await api.get(path, headers={"If-None-Match": tag})).status == 200


async def test_put_by_key_creates_one_task_and_repeating_it_changes_nothing() -> None:
    async with serve_api() as api:
        path = "/v1/tasks/by-key/tenant%207/mail"
        assert (await api.get(path)).code == "no_such_task"
        assert (await api.put(path, TASK, headers={"If-Match": "*"})).status == 412
        made = await api.put(path, TASK)
        assert made.status == 201
        again = await api.put(path, TASK)
        assert (again.status, again.json["id"], again.json["version"]) == (200, made.json["id"], 1)
        assert (await api.put(path, {**TASK, "when": "every 1h"})).json["version"] == 2
        only_new = await api.put(path, TASK, headers={"If-None-Match": "*"})
        assert only_new.status == 412
        found = await api.get(path)
        assert found.json["key"] == "tenant 7/mail"
        assert (await api.get(path, who="bob")).code == "no_such_task"
        assert (await api.get(f"{path}?owner=ada", who="bob")).code == "no_such_task"
        assert (await api.get(f"{path}?owner=ada", who="admin")).json["id"] == made.json["id"]
        assert (await api.get(f"/v1/tasks/named/{made.json['id'][:12]}")).json["id"] == made.json["id"]
        assert (await api.get("/v1/tasks/named/why")).status == 404
        assert (await api.put("/v1/tasks/by-key/why", TASK)).status == 201
        assert (await api.get("/v1/tasks/by-key/why")).json["key"] == "why"


async def test_create_with_a_key_answers_201_for_a_new_task_and_200_for_an_existing_one() -> None:
    async with serve_api() as api:
        keyed = {**TASK, "key": "mail"}
        made = await api.post("/v1/tasks", keyed)
        same = await api.post("/v1/tasks", keyed)
        other = await api.post("/v1/tasks", {**keyed, "when": "every 1h"}, headers={"Idempotency-Key": "once"})
        again = await api.post("/v1/tasks", {**keyed, "when": "every 1h"}, headers={"Idempotency-Key": "once"})
        assert [each.status for each in (made, same, other, again)] == [201, 200, 200, 200]
        assert [each.json["version"] for each in (made, same, other, again)] == [1, 1, 2, 2]
        assert {each.headers["location"] for each in (made, same, other, again)} == {f"/v1/tasks/{made.json['id']}"}
        assert (await api.post("/v1/tasks", keyed, who="bob")).status == 201, "a key is its owner's own"
        assert (await api.post("/v1/tasks?dry_run=true", {**TASK, "key": "new"})).status == 200


async def test_actions_return_the_changed_task() -> None:
    async with serve_api() as api:
        task = await api.create_task()
        path = f"/v1/tasks/{task['id']}"
        paused = (await api.post(f"{path}/pause", {"note": "moving", "until": "in 2h"})).json
        assert (paused["state"], paused["pause"]["note"]) == ("paused", "moving")
        assert (await api.post(f"{path}/pause", {"until": "2001-01-01"})).code == "until_past"
        assert (await api.post(f"{path}/resume")).json["state"] == "active"
        assert (await api.post(f"{path}/skip", {"number": 2})).json["skips_left"] == 2
        assert (await api.post(f"{path}/skip", {"number": -1})).status == 422
        assert (await api.post(f"{path}/skip", {"numbers": 1})).code == "unknown_field"
        run = await api.post(f"{path}/run")
        assert run.status == 202
        assert run.json["run_id"].startswith("run_")
        why = (await api.get(f"{path}/why")).json
        assert why["verdict"] == "overdue"
        assert "no engine" in why["sentence"]
        chinese = (await api.get(f"{path}/why?at=now", headers={"Accept-Language": "zh"})).json
        assert chinese["sentence"] != why["sentence"]
        assert len((await api.get(f"{path}/explain?number=3")).json["fires"]) == 3
        agenda = (await api.get(f"{path}?include=agenda,last")).json["agenda"]
        assert {entry["kind"] for entry in agenda["entries"]} >= {"next"}
        assert (await api.post(f"{path}/cancel")).json["state"] == "cancelled"
        assert (await api.post(f"{path}/resume")).code == "task_cancelled"
        assert (await api.post(f"{path}/restore?dry_run=true")).json["state"] == "active"
        assert (await api.post(f"{path}/restore")).json["state"] == "active"
        assert (await api.post(f"{path}/restore")).code == "not_cancelled"
        assert (await api.delete(path)).status == 204
        assert (await api.get(path)).status == 404
        assert (await api.delete(path)).status == 404


async def test_backfill_queues_past_occurrences() -> None:
    async with serve_api() as api:
        task = await api.create_task(when="0 0 * * *")
        path = f"/v1/tasks/{task['id']}/backfill"
        tried = await api.post(f"{path}?dry_run=true", {"from": "2026-01-01", "to": "2026-01-03"})
        assert (tried.status, tried.json["count"]) == (200, 3), tried.text
        done = await api.post(path, {"from": "2026-01-01", "to": "2026-01-03"})
        assert (done.status, done.json["count"], done.json["dry_run"]) == (200, 3, False)
        assert (await api.post(path, {"from": "2026-01-01"})).code == "missing_field"
        assert (await api.post(path, {"from": "soon", "to": "later"})).code == "unclear_moment"


async def test_bulk_create_makes_all_tasks_or_none() -> None:
    async with serve_api() as api:
        tasks = [{**TASK, "name": f"task {number}"} for number in range(1_000)]
        spoilt = [*tasks[:-1], {**TASK, "when": "sometimes"}]
        refused = await api.post("/v1/tasks/bulk", {"tasks": spoilt}, who="admin")
        assert refused.status == 422
        assert refused.json["errors"][0]["pointer"] == "/tasks/999/when"
        unread = await api.post("/v1/tasks/bulk", {"tasks": [TASK, {**TASK, "colour": "red"}]}, who="admin")
        assert unread.json["errors"][0]["pointer"] == "/tasks/1/colour"
        assert (await api.get("/v1/tasks", who="admin")).json["items"] == []
        made = await api.post("/v1/tasks/bulk", {"tasks": tasks}, who="admin")
        assert (made.status, made.json["created"], len(made.json["items"])) == (201, 1_000, 1_000)
        assert (await api.post("/v1/tasks/bulk", {"tasks": [*tasks, TASK]}, who="admin")).code == "bad_number"
        assert (await api.post("/v1/tasks/bulk", {"tasks": []}, who="admin")).status == 422
        assert (await api.post("/v1/tasks/bulk", {"tasks": [{**TASK, "key": "k"}]}, who="admin")).status == 422


async def test_bulk_action_changes_matching_tasks_of_the_caller_only() -> None:
    async with serve_api() as api:
        for number in range(4):
            await api.create_task(labels={"team": "a" if number < 3 else "b"})
        theirs = await api.create_task("bob")
        assert (await api.post("/v1/tasks/actions", {"action": "pause"})).code == "missing_field"
        assert (await api.post("/v1/tasks/actions", {"action": "explode", "all": True})).code == "bad_choice"
        tried = await api.post("/v1/tasks/actions?dry_run=true", {"action": "delete", "all": True})
        assert tried.json == {"matched": 4, "done": 4, "refused": [], "undo": None, "dry_run": True}
        body = {"action": "pause", "filter": {"label": "team=a"}, "arguments": {"note": "moving"}}
        assert (await api.post("/v1/tasks/actions", body)).json["done"] == 3
        assert len((await api.get("/v1/tasks?state=paused")).json["items"]) == 3
        gone = await api.post("/v1/tasks/actions", {"action": "delete", "filter": {"state": ["active", "paused"]}})
        assert gone.json["done"] == 4
        assert (await api.get(f"/v1/tasks/{theirs['id']}", who="bob")).json["state"] == "active"


async def test_schedule_preview_stores_nothing() -> None:
    async with serve_api() as api:
        body = {"when": "last day of month at 17:00", "zone": "Europe/Berlin", "after": "2026-01-15", "number": 2}
        reply = await api.post("/v1/schedules/preview", body)
        assert [each["at_local"] for each in reply.json["fires"]] == [
            "2026-01-31T17:00:00.000+01:00",
            "2026-02-28T17:00:00.000+01:00",
        ]
        chinese = await api.post("/v1/schedules/preview", {"when": "每天早上9点"}, headers={"Accept-Language": "zh-CN"})
        assert chinese.json["means"].startswith("每天 09:00")
        for odd in (
            {},
            {"when": "every 5m", "number": 0},
            {"when": "every 5m", "number": 10**9},
            {"when": "every 5m", "gap": "x"},
        ):
            assert (await api.post("/v1/schedules/preview", odd)).status == 422, odd
        assert (await api.get("/v1/tasks")).json["items"] == []


async def test_instants_are_rendered_in_utc() -> None:
    async with serve_api() as api:
        made = await api.create_task()
        created = datetime.fromisoformat(made["created"])
        assert made["created"].endswith("Z")
        assert created.tzinfo == UTC


async def test_name_in_place_of_an_id_gets_a_hint_to_the_route_for_names() -> None:
    async with serve_api() as api:
        await api.create_task(when="every 1h", name="h20")
        for path in ("/v1/tasks/h20", "/v1/tasks/h20/runs"):
            assert "GET /v1/tasks/named/{name}" in (await api.get(path)).json["hint"]
        assert (await api.get("/v1/tasks/named/h20")).status == 200
        assert "/v1/tasks/named/" not in (await api.get("/v1/tasks/tsk_019a00000000")).json["hint"]
        assert "/v1/tasks/named/" not in (await api.get("/v1/tasks/named/absent")).json["hint"]


async def test_task_with_several_schedules_is_created_previewed_edited_and_refused_at_its_part() -> None:
    several = ["every weekday at 9am", {"kind": "cron", "expression": "0 11 * * 6"}]
    async with serve_api() as api:
        made = (await api.post("/v1/tasks", {**WEEKDAYS, "when": several})).json
        assert made["means"] == "Monday to Friday at 09:00; and on Saturday at 11:00 (cron 0 11 * * 6); Asia/Shanghai"
        assert [each["kind"] for each in made["when"]["schedules"]] == ["calendar", "cron"]
        assert made["when"]["kind"] == "any_of"
        question = {"when": several, "zone": "Asia/Shanghai", "number": 7}
        seen = (await api.post("/v1/schedules/preview", question)).json
        assert seen["schedule"] == made["when"]
        assert {each["at_local"][11:16] for each in seen["fires"]} == {"09:00", "11:00"}
        path = f"/v1/tasks/{made['id']}"
        edited = (await api.request("PATCH", path, {"when": "工作日9点以及周六11点"})).json
        assert edited["when"]["schedules"][1]["on"] == ["SAT"]
        again = (await api.request("PATCH", path, {"when": made["when"]})).json
        assert again["when"] == made["when"], "the canonical JSON is accepted as it was returned"
        for when, code, pointer in (
            ([*several, "sat at 11am"], "once_or_weekly", "/when/2"),
            ([*several, {"kind": "every", "interval": "PT5M", "from": "end"}], "list_from_end", "/when/2"),
            (
                {"kind": "any_of", "schedules": [*several, "every day at 10:00 3 times"]},
                "list_modifier",
                "/when/schedules/2",
            ),
            ([], "list_empty", "/when"),
            (["every day at 9am"] * 17, "list_too_long", "/when"),
        ):
            refused = await api.post("/v1/tasks", {**WEEKDAYS, "when": when})
            assert (refused.status, refused.code, refused.json["errors"][0]["pointer"]) == (422, code, pointer)
        bulk = await api.post("/v1/tasks/bulk", {"tasks": [TASK, {**TASK, "when": ["every 1h", "fish"]}]})
        assert bulk.json["errors"][0]["pointer"] == "/tasks/1/when/1"


async def test_unknown_zone_is_refused_where_it_was_given() -> None:
    async with serve_api() as api:
        made = (await api.post("/v1/tasks", TASK)).json
        daily = {**TASK, "when": "every day at 9:00"}
        beside = await api.post("/v1/tasks", {**daily, "zone": "Mars/Base"})
        inside = await api.post("/v1/tasks", {**daily, "when": "every day at 9:00 Europe/Berlln"})
        canonical = await api.post(
            "/v1/tasks", {**daily, "when": {"kind": "cron", "expression": "0 9 * * *", "zone": "Mars"}}
        )
        bulk = await api.post("/v1/tasks/bulk", {"tasks": [TASK, {**daily, "zone": "Mars/Base"}]})
        edited = await api.request("PATCH", f"/v1/tasks/{made['id']}", {"zone": "Mars/Base"})
        for refused, pointer in (
            (beside, "/zone"),
            (inside, "/when"),
            (canonical, "/when"),
            (bulk, "/tasks/1/zone"),
            (edited, "/zone"),
        ):
            assert (refused.code, refused.json["errors"][0]["pointer"]) == ("unknown_zone", pointer), refused.json


async def test_past_of_a_task_is_for_admins_and_checked_by_field() -> None:
    async with serve_api() as api:
        past = {"created": "2026-01-01T00:00:00Z", "counted": 3, "last_end": "2026-01-02T00:00:00+01:00"}
        refused = await api.post("/v1/tasks", {**TASK, "past": past})
        assert (refused.status, refused.json["code"], refused.json["errors"][0]["pointer"]) == (
            403,
            "past_not_allowed",
            "/past",
        )
        for name, value in (("created", "2026-01-01T00:00:00"), ("missed_since", "soon"), ("last_end", 5)):
            bad = await api.post("/v1/tasks", {**TASK, "past": {name: value}}, who="admin")
            assert (bad.status, bad.json["code"]) == (422, "bad_past")
            assert bad.json["errors"][0]["pointer"] == f"/past/{name}"
        made = await api.post("/v1/tasks", {**TASK, "past": past}, who="admin")
        assert (made.status, made.json["created"], made.json["counted"]) == (201, "2026-01-01T00:00:00.000Z", 3)
