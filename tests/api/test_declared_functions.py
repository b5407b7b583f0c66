"""`/v1/tasks` with a function: the task starts from its declaration, and arguments and names are checked against it."""

from __future__ import annotations

from typing import Any

import pytest

from horae import Horae
from tests.api.api_server import serve_api
from tests.app.declared_functions import register_in

MAIL: dict[str, Any] = {"name": "mails", "when": "every day at 09:00", "function": "mail", "payload": {"user": 7}}


async def _create(body: Any, who: str, path: str = "/v1/tasks", method: str = "POST") -> Any:
    async with serve_api() as api:
        await register_in(api.service)
        return (await api.request(method, path, body, who=who)).json


@pytest.mark.parametrize("who", ["admin", "ada"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/tasks"), ("PUT", "/v1/tasks/by-key/k")])
async def test_task_starts_from_the_declaration(who: str, method: str, path: str) -> None:
    made = await _create(MAIL, who, path, method)
    assert (made["lane"], made["zone"], made["labels"]) == ("mailer", "Asia/Tokyo", {"team": "ops"})
    assert made["policies"]["retry"]["attempts"] == 1
    assert made["policies"]["guarantee"] == "at_most_once"
    assert {"lane", "zone", "labels", "policies.retry", "policies.timeout"} <= set(made["declared"])
    assert [each["code"] for each in made["warnings"]] == ["function_not_running"]


async def test_field_of_the_body_wins_over_the_declaration() -> None:
    overrides = {
        "zone": "UTC",
        "lane": None,
        "labels": {},
        "policies": {"retry": {"backoff": "5s"}, "missed": "latest"},
    }
    made = await _create(MAIL | overrides, "ada")
    assert (made["lane"], made["zone"], made["labels"]) == (None, "UTC", {})
    assert made["policies"]["missed"]["mode"] == "latest"
    assert made["policies"]["retry"] == {
        "attempts": 1,
        "backoff": "PT5S",
        "factor": 2.0,
        "max": "PT1H",
        "jitter": "full",
        "superseded_by_next": True,
    }
    assert not {"lane", "zone", "labels", "policies.missed"} & set(made["declared"])


async def test_lane_that_a_member_names_stays_the_members_own() -> None:
    made = await _create(MAIL | {"lane": "mailer"}, "ada")
    assert made["lane"] == "ada/mailer"


async def test_agent_keeps_its_own_lane() -> None:
    made = await _create(MAIL | {"when": "every 1h, 3 times"}, "robot")
    assert made["lane"] == "ada/agent:robot"
    assert made["policies"]["guarantee"] == "at_most_once"


async def test_arguments_that_do_not_fit_answer_422_and_point_at_the_payload() -> None:
    problem = await _create(MAIL | {"payload": {"user": "seven"}}, "ada")
    assert (problem["status"], problem["code"]) == (422, "bad_arguments")
    assert problem["errors"][0]["pointer"] == "/payload"
    problem = await _create({"tasks": [MAIL, MAIL | {"payload": {}}]}, "ada", "/v1/tasks/bulk")
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("missing_argument", "/tasks/1/payload")


async def test_unknown_function_answers_201_with_the_nearest_name() -> None:
    await _check_unknown_function()


async def _check_unknown_function() -> None:
    async with serve_api() as api:
        await register_in(api.service)
        made = await api.post("/v1/tasks", MAIL | {"function": "jobs.report", "payload": {}, "zone": "UTC"})
        assert made.status == 201
        (warning,) = made.json["warnings"]
        assert warning["code"] == "function_unknown"
        assert "Did you mean 'report'?" in warning["message"]
        edited = await api.patch(f"/v1/tasks/{made.json['id']}", {"function": "reporter"})
        assert "'report'" in edited.json["warnings"][0]["message"]
        chinese = await api.post(
            "/v1/tasks", MAIL | {"function": "mial", "zone": "UTC"}, headers={"Accept-Language": "zh"}
        )
        assert "是不是“mail”" in chinese.json["warnings"][0]["message"]
        many = await api.post("/v1/tasks/bulk", {"tasks": [MAIL, MAIL | {"function": "mial"}]})
        assert [[each["code"] for each in item["warnings"]] for item in many.json["items"]] == [
            ["function_not_running"],
            ["function_unknown"],
        ]
        assert "lane" in many.json["items"][0]["declared"]


async def test_body_that_replaces_a_task_starts_from_the_declaration() -> None:
    await _check_replaced_task()


async def _check_replaced_task() -> None:
    async with serve_api() as api:
        await register_in(api.service)
        made = (await api.post("/v1/tasks", {"name": "x", "when": "every 1h", "zone": "UTC", "say": "x"})).json
        put = (await api.put(f"/v1/tasks/{made['id']}", MAIL)).json
        assert (put["lane"], put["zone"], put["policies"]["priority"]) == ("mailer", "Asia/Tokyo", 7)
        assert "lane" in put["declared"]
        again = (await api.put(f"/v1/tasks/{made['id']}", (await api.get(f"/v1/tasks/{made['id']}")).json)).json
        assert again["changed"] == {}


async def test_registered_functions_are_listed_with_arguments_and_defaults() -> None:
    await _check_function_list()


async def _check_function_list() -> None:
    async with serve_api() as api:
        assert (await api.get("/v1/functions")).json["items"] == []
        await register_in(api.service)
        mail, report = (await api.get("/v1/functions")).json["items"]
        assert (mail["name"], report["name"]) == ("mail", "report")
        assert [(each["name"], each["required"], each["accepts"]) for each in mail["arguments"]] == [
            ("user", True, ["integer"]),
            ("subject", False, ["string"]),
        ]
        assert mail["defaults"]["policies"] == {
            "missed": {"mode": "skip"},
            "overlap": "queue",
            "retries": 0,
            "timeout": "90s",
            "guarantee": "at_most_once",
            "priority": 7,
        }
        assert (mail["nodes"], mail["uniform"]) == (0, True)
        assert (await api.get("/v1/functions/mail")).json == mail
        missing: Any = await api.get("/v1/functions/mial")
        assert (missing.status, missing.code) == (404, "no_such_function")


async def test_short_name_of_a_gate_function_is_completed_and_an_unknown_one_is_reported() -> None:
    async with serve_api() as api:
        app = Horae("memory://", engine=False)
        app.task(name="jobs.check")(check)
        await api.service.functions.register(app.who, app._registrations())
        body = {"name": "x", "when": "every 1h", "say": "x", "policies": {"gate": {"function": "check"}}}
        made = (await api.request("POST", "/v1/tasks", body)).json
        assert made["policies"]["gate"]["target"]["name"] == "jobs.check"
        assert any("registered as 'jobs.check'" in each["message"] for each in made["warnings"])
        edit = {"policies": {"gate": {"function": "check", "timeout": "5s"}}}
        edited = (await api.request("PATCH", f"/v1/tasks/{made['id']}", edit)).json
        gate = edited["policies"]["gate"]
        assert (gate["target"]["name"], gate["timeout"]) == ("jobs.check", "PT5S")
        unknown = {**body, "name": "y", "policies": {"gate": {"function": "nothing_like_it"}}}
        refused = (await api.request("POST", "/v1/tasks", unknown)).json
        assert any("'nothing_like_it'" in each["message"] for each in refused["warnings"])


async def check() -> bool:
    return True
