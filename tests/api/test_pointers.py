"""Pointers of refusals over HTTP: gates, lanes and rates name the field of the body that has to change."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.api.api_server import serve_api

TASK: Final = {"name": "x", "say": "x", "zone": "UTC", "when": "every 1h"}


@pytest.mark.parametrize(
    ("fields", "code", "pointer"),
    [
        ({"policies": {"gate": {"command": ["rm", "-r"]}}}, "command_none_allowed", "/policies/gate/command"),
        ({"policies": {"gate": {"command": []}}}, "command_argv", "/policies/gate/command"),
        (
            {"policies": {"gate": {"http": {"url": "https://a.test/", "method": "BREW"}}}},
            "http_bad_value",
            "/policies/gate/http",
        ),
        ({"policies": {"gate": {"http": "https://a.test/{horae.x}"}}}, "unknown_placeholder", "/policies/gate/http"),
        ({"policies": {"lanes": ["a", "a"]}}, "bad_list", "/policies/lanes"),
        ({"policies": {"lanes": [f"l{number}" for number in range(9)]}}, "too_many_task_lanes", "/policies/lanes"),
        ({"policies": {"notify": {"to": ["a", "a"]}}}, "bad_list", "/policies/notify/to"),
        ({"lane": "a:{user}"}, "bad_lane_placeholder", "/lane"),
        ({"lane": "a", "policies": {"lanes": ["b:{user}"]}}, "bad_lane_placeholder", "/policies/lanes"),
        ({"policies": {"lanes": ["b:{label:x}"]}}, "bad_lane_placeholder", "/policies/lanes"),
        ({"policies": {"lanes": [""]}}, "bad_text", "/policies/lanes"),
        ({"lane": ""}, "bad_text", "/lane"),
        (
            {"policies": {"gate": {"http": "https://a.test/"}, "overlap": "parallel"}},
            "gate_state_parallel",
            "/policies/gate/state",
        ),
        ({"policies": {"gate": {"http": "https://a.test/", "function": "f"}}}, "two_targets", "/policies/gate"),
    ],
)
async def test_refused_task_points_at_its_field(fields: dict[str, Any], code: str, pointer: str) -> None:
    async with serve_api() as api:
        made = (await api.post("/v1/tasks", {**TASK, "name": "made"})).json
        keyed = {**TASK, "key": "mine"}
        for answer in (
            await api.post("/v1/tasks", {**TASK, **fields}),
            await api.post("/v1/tasks", {**keyed, **fields}),
            await api.patch(f"/v1/tasks/{made['id']}", fields),
        ):
            assert (answer.status, answer.json["code"]) == (
                422 if code != "command_none_allowed" else answer.status,
                code,
            )
            assert [each["pointer"] for each in answer.json["errors"]] == [pointer], answer.json


async def test_refused_rate_points_at_its_field() -> None:
    async with serve_api() as api:
        answer = await api.put("/v1/lanes/api", {"rate": "many"})
        assert (answer.status, answer.json["code"]) == (422, "bad_rate")
        assert [each["pointer"] for each in answer.json["errors"]] == ["/rate"]


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "pointer"),
    [
        ("POST", "/v1/streams/chat:1/messages", {"messages": []}, "no_messages", "/messages"),
        (
            "POST",
            "/v1/streams/chat:1/messages",
            {"messages": [{"text": "a"}, {"txt": "b"}]},
            "unknown_field",
            "/messages/1/txt",
        ),
        ("PUT", "/v1/streams/chat:1", {"keep_for": "soon"}, "bad_duration", "/keep_for"),
        ("PUT", "/v1/streams/chat:1", {"keep_for": "9999d"}, "bad_keep_for", "/keep_for"),
        ("PUT", "/v1/destinations/ops", {"url": "json://a.test/", "zone": "Mars/X"}, "unknown_zone", "/zone"),
        ("POST", "/v1/tasks/{id}/run", {"gate_only": True}, "no_gate", "/gate_only"),
    ],
)
async def test_refused_request_points_at_its_field(method: str, path: str, body: Any, code: str, pointer: str) -> None:
    async with serve_api() as api:
        made = (await api.post("/v1/tasks", TASK)).json
        answer = await api.request(method, path.replace("{id}", made["id"]), body)
        assert (answer.status, answer.json["code"]) == (422, code), answer.text
        assert [each["pointer"] for each in answer.json["errors"]] == [pointer]


async def test_station_without_a_key_is_refused_at_its_field() -> None:
    async with serve_api() as api:
        refused = await api.put("/v1/stations/orders", {"kind": "api"})
        assert (refused.status, refused.code) == (422, "missing_field"), refused.text
        assert [each["pointer"] for each in refused.json["errors"]] == ["/key"]
        assert (await api.get("/v1/stations")).json["items"] == []
