"""Ids are accepted as unique prefixes over HTTP and in the service; ids of other owners answer as unknown."""

from __future__ import annotations

from typing import Any

from horae.model.accounts.principal import LOCAL, Principal
from tests.api.api_server import Api, serve_api

SHORT = 16
ADA = Principal("ada")


async def check_tasks_by_prefix(api: Api) -> None:
    made = await api.create_task(name="mine")
    foreign = await api.create_task(who="bob", name="theirs")
    short = made["id"][:SHORT]
    assert (await api.get(f"/v1/tasks/{short}")).json["id"] == made["id"]
    paused = await api.post(f"/v1/tasks/{short}/pause", {"note": "rain"})
    assert (paused.status, paused.json["id"], paused.json["state"]) == (200, made["id"], "paused")
    assert (await api.patch(f"/v1/tasks/{short}", {"name": "renamed"})).json["name"] == "renamed"
    assert (await api.get(f"/v1/tasks/{short}/why")).status == 200
    assert (await api.get(f"/v1/tasks/{short}/explain")).status == 200
    assert (await api.post(f"/v1/tasks/{short}/resume")).json["state"] == "active"
    queued = await api.post(f"/v1/tasks/{short}/run")
    assert (queued.status, queued.json["task_id"]) == (202, made["id"])
    assert (await api.get(f"/v1/runs?task={short}")).status == 200
    assert (await api.get(f"/v1/tasks/{short}/runs")).status == 200
    for part in (foreign["id"], foreign["id"][:SHORT], foreign["id"][:30]):
        found, absent = await api.get(f"/v1/tasks/{part}"), await api.get(f"/v1/tasks/{'tsk_' + 'f' * (len(part) - 4)}")
        assert (found.status, found.code) == (absent.status, absent.code) == (404, "no_such_task")
    assert (await api.get(f"/v1/tasks/{foreign['id'][:SHORT]}", who="admin")).json["owner"] == "bob"
    assert (await api.delete(f"/v1/tasks/{short}")).status == 204
    assert (await api.get(f"/v1/tasks/{made['id']}")).status == 404


async def check_ambiguous_prefixes(api: Api) -> None:
    bodies = [{"name": f"copy {number}", "when": "every 10m", "zone": "UTC", "say": "x"} for number in range(2)]
    assert (await api.post("/v1/tasks/bulk", {"tasks": bodies})).status == 201
    ids = [task["id"] for task in (await api.get("/v1/tasks")).json["items"]]
    refused = await api.get(f"/v1/tasks/{ids[0][:12]}")
    assert (refused.status, refused.code) == (409, "ambiguous_name")
    detail = refused.json["detail"]
    for number, task_id in enumerate(ids):
        short = next(word for word in detail.replace(",", " ").split() if task_id.startswith(word))
        assert f"{short} copy {number} (ada)" in detail
        assert (await api.get(f"/v1/tasks/{short}")).json["id"] == task_id
    assert (await api.post(f"/v1/tasks/{ids[0][:12]}/cancel")).code == "ambiguous_name"
    assert (await api.get(f"/v1/tasks/{ids[0][:12]}", who="bob")).code == "no_such_task"
    states = {task["state"] for task in (await api.get("/v1/tasks")).json["items"]}
    assert states == {"active"}


async def check_names_of_finished_tasks(api: Api) -> None:
    cancelled = await api.create_task(name="tea")
    assert (await api.post(f"/v1/tasks/{cancelled['id']}/cancel")).status == 200
    assert (await api.get("/v1/tasks/named/tea")).json["id"] == cancelled["id"]
    added_again = await api.create_task(name="tea")
    assert (await api.get("/v1/tasks/named/tea")).json["id"] == added_again["id"]
    assert (await api.get("/v1/runs?task=tea")).status == 200
    await api.create_task(name="tea")
    refused = await api.get("/v1/tasks/named/tea")
    assert (refused.status, refused.code) == (409, "ambiguous_name")


async def check_prefixes_of_an_agent(api: Api) -> None:
    bodies = [{"name": "person", "when": "every 10m", "zone": "UTC", "say": "x"}]
    assert (await api.post("/v1/tasks/bulk", {"tasks": bodies})).status == 201
    own = (await api.post("/v1/tasks", {"name": "robot", "when": "in 2h", "zone": "UTC", "say": "x"}, who="robot")).json
    (person,) = [t for t in (await api.get("/v1/tasks")).json["items"] if t["name"] == "person"]
    shared = own["id"][: next(n for n in range(len(own["id"])) if own["id"][n] != person["id"][n])]
    if len(shared) >= 12:
        assert (await api.get(f"/v1/tasks/{shared}", who="robot")).json["id"] == own["id"]
    assert (await api.get(f"/v1/tasks/{person['id'][:SHORT]}", who="robot")).code == "no_such_task"


async def check_other_ids_by_prefix(api: Api) -> None:
    hook = (await api.post("/v1/webhooks", {"url": "https://example.com/x"})).json
    short = hook["id"][:SHORT]
    assert (await api.get(f"/v1/webhooks/{short}")).json["id"] == hook["id"]
    assert (await api.get(f"/v1/webhooks/{short}/deliveries")).status == 200
    assert (await api.get(f"/v1/webhooks/{short}", who="bob")).code == "no_such_webhook"
    assert (await api.delete(f"/v1/webhooks/{short}")).status == 204
    token = (await api.get("/v1/tokens")).json["items"][0]
    assert (await api.get(f"/v1/tokens/{token['id'][:28]}")).json["id"] == token["id"]
    assert (await api.get(f"/v1/tokens/{token['id'][:28]}", who="bob")).code == "no_such_token"
    begun = await api.post(
        "/v1/tasks/actions", {"action": "pause", "filter": {}, "all": True}, headers={"Prefer": "respond-async"}
    )
    operation: dict[str, Any] = (await api.get(f"/v1/operations/{begun.json['id'][:SHORT]}")).json
    assert operation["id"] == begun.json["id"]
    assert (await api.get(f"/v1/operations/{begun.json['id'][:SHORT]}", who="bob")).code == "no_such_operation"


async def check_prefixes_in_the_service(api: Api) -> None:
    task = (await api.service.tasks.get(LOCAL, (await api.create_task())["id"])).task
    assert await api.service.tasks.run_now(ADA, task.id[:SHORT])
    assert (await api.service.tasks.find_by_name(ADA, task.id[:9])).task.id == task.id
    assert (await api.service.explanations.explain(ADA, task.id[:SHORT], None)).facts.task.id == task.id


async def _run_check(check: Any) -> None:
    async with serve_api() as api:
        await check(api)


async def test_name_resolves_to_the_unfinished_task_over_http() -> None:
    await _run_check(check_names_of_finished_tasks)


async def test_tasks_are_found_and_changed_by_a_prefix_of_their_id() -> None:
    await _run_check(check_tasks_by_prefix)


async def test_an_ambiguous_prefix_lists_the_candidates_and_changes_nothing() -> None:
    await _run_check(check_ambiguous_prefixes)


async def test_an_agent_resolves_prefixes_among_its_own_tasks() -> None:
    await _run_check(check_prefixes_of_an_agent)


async def test_webhooks_tokens_and_operations_are_found_by_a_prefix() -> None:
    await _run_check(check_other_ids_by_prefix)


async def test_the_library_accepts_prefixes() -> None:
    await _run_check(check_prefixes_in_the_service)
