"""Routing and declared parameters: every value is bound by its declared type and limits, or refused by name."""

from __future__ import annotations

from typing import Annotated, Any, Final

import pytest
from starlette.requests import Request
from starlette.responses import Response

from horae.api.app import ROUTES
from horae.model.accounts.principal import Principal
from horae.web.parameters import Binder, Body, Path, Query
from tests.api.api_server import serve_api

REFUSED: Final = {
    "/v1/tasks?limit=0": (422, "bad_parameter_value"),
    "/v1/tasks?limit=201": (422, "bad_parameter_value"),
    "/v1/tasks?limit=": (422, "bad_parameter_value"),
    "/v1/tasks?limit=many": (422, "bad_parameter_value"),
    "/v1/tasks?limit=5.5": (422, "bad_parameter_value"),
    f"/v1/tasks?limit={'9' * 5_000}": (422, "bad_parameter_value"),
    f"/v1/tasks?limit=1{'%0A' * 3}2": (422, "bad_parameter_value"),
    "/v1/tasks?limit=%D9%A3": (422, "bad_parameter_value"),
    f"/v1/tasks?name={'x' * 201}": (422, "bad_parameter_value"),
    "/v1/tasks?sort=name": (422, "bad_parameter_value"),
    "/v1/tasks?sort=next%0A": (422, "bad_parameter_value"),
    "/v1/tasks?limit=1&limit=2": (400, "parameter_twice"),
    "/v1/tasks?unknown=1": (400, "unknown_parameter"),
    "/v1/tasks?=1": (400, "unknown_parameter"),
    f"/v1/tasks/{'x' * 201}": (422, "bad_parameter_value"),
    "/v1/events?after=-1": (422, "bad_parameter_value"),
    f"/v1/events?after={2**63}": (422, "bad_parameter_value"),
    "/v1/tasks/": (404, "no_such_path"),
    "/v1/tasks/tsk_absent": (404, "no_such_task"),
    "/v1/tasks/bulk": (404, "no_such_task"),
    "/v1/tasks/by-key/a/b": (404, "no_such_task"),
    "/schedules/upcoming?days=x": (400, "unknown_parameter"),
    "/schedules?page=0": (422, "bad_parameter_value"),
}
ACCEPTED: Final = (
    "/v1/tasks?limit=%20+5",
    "/v1/tasks?limit=5.0",
    "/v1/tasks?limit=1&state=active&state=paused",
    "/v1/tasks?label=a%3Db&label=c%3Dd",
    "/v1/tasks?name=",
    "/v1/tasks?name=%ff",
    "/v1/tasks?",
    "/v1/tasks?sort=next",
    "/v1/events?task=tsk_absent",
    "/schedules?status=PENDING&enabled=no",
    "/healthz?anything=1",
)


async def test_bad_parameters_are_refused_with_status_and_code() -> None:
    async with serve_api() as api:
        for path, (status, code) in REFUSED.items():
            reply = await api.get(path)
            assert (reply.status, reply.code) == (status, code), path
            assert (await api.get(path, who=None)).status == (404 if code == "no_such_path" else 401), path


async def test_values_are_read_by_the_declared_type() -> None:
    async with serve_api() as api:
        for path in ACCEPTED:
            reply = await api.get(path)
            assert reply.status == 200, (path, reply.text)


async def test_dry_run_accepts_the_usual_words_and_no_others() -> None:
    async with serve_api() as api:
        task = (await api.create_task())["id"]
        for word in ("true", "1", "YES", "on"):
            assert (await api.delete(f"/v1/tasks/{task}?dry_run={word}")).status == 204, word
        for word in ("maybe", "", "2"):
            assert (await api.delete(f"/v1/tasks/{task}?dry_run={word}")).code == "bad_parameter_value", word
        assert (await api.get(f"/v1/tasks/{task}")).status == 200
        assert (await api.delete(f"/v1/tasks/{task}?dry_run=off")).status == 204
        assert (await api.get(f"/v1/tasks/{task}")).status == 404


async def test_wrong_method_names_the_allowed_ones() -> None:
    async with serve_api() as api:
        reply = await api.delete("/v1/tasks")
        assert (reply.status, reply.code) == (405, "bad_method")
        assert reply.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
        options = await api.request("OPTIONS", "/v1/tasks/tsk_absent", who=None)
        assert (options.status, options.headers["Allow"]) == (204, "DELETE, GET, HEAD, OPTIONS, PATCH, PUT")


async def test_stream_that_is_refused_at_its_start_gets_a_problem() -> None:
    async with serve_api() as api:
        for accept in ("text/event-stream", "application/x-ndjson"):
            reply = await api.get("/v1/events", who="robot", headers={"Accept": accept})
            assert (reply.status, reply.code) == (403, "not_for_agents")


def test_no_route_is_hidden_by_an_earlier_one() -> None:
    for route in ROUTES:
        path = route.path_format.replace("{", "").replace("}", "")
        first = next(each for each in ROUTES if each.method == route.method and each.path_regex.match(path))
        assert first is route, path


async def _endpoint(
    _request: Request,
    _principal: Principal,
    name: Annotated[str, Path("A name.", max_length=9)],
    body: Annotated[Any, Body("NewTask", optional=True)],
    *,
    number: Annotated[int, Query("How many.", minimum=1, maximum=9)] = 5,
    words: Annotated[list[str] | None, Query(name="word")] = None,
) -> Response:
    return Response(f"{name}{body}{number}{words}")


def test_document_of_a_parameter_is_its_declaration() -> None:
    binder = Binder(_endpoint, "/things/{name:path}")
    assert [each.to_json() for each in binder.parameters] == [
        {
            "name": "name",
            "in": "path",
            "required": True,
            "description": "A name.",
            "schema": {"type": "string", "maxLength": 9},
        },
        {
            "name": "number",
            "in": "query",
            "required": False,
            "description": "How many.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 9, "default": 5},
        },
        {"name": "word", "in": "query", "required": False, "schema": {"type": "array", "items": {"type": "string"}}},
    ]
    assert binder.body == Body("NewTask", optional=True)


def test_arguments_of_a_request() -> None:
    binder = Binder(_endpoint, "/things/{name}")
    scope = {"path_params": {"name": "x"}, "query_string": b"word=a&word=b+c"}
    assert binder.bind(scope) == {"name": "x", "number": 5, "words": ["a", "b c"]}


def test_path_parameter_without_a_declaration_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="path parameters"):
        Binder(_endpoint, "/things/{other}")
