"""Conventions of every route: authentication, problem responses, language, headers, methods and parameters."""

from __future__ import annotations

from typing import Final

from horae.model.accounts.principal import LOCAL
from horae.web.request_context import WebSettings
from tests.api.api_server import TASK, Api, serve_api


async def test_request_without_a_valid_token_answers_401_with_a_hint() -> None:
    async with serve_api() as api:
        reply = await api.get("/v1/tasks", who=None)
        assert (reply.status, reply.code) == (401, "no_token")
        assert reply.headers["www-authenticate"] == "Bearer"
        for authorization in (
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            "horae_x",
            "Bearer horae_0_0",
            "Bearer " + "x" * 5_000,
        ):
            assert (await api.get("/v1/tasks", who=None, headers={"Authorization": authorization})).status == 401, (
                authorization
            )


async def test_token_in_the_query_is_ignored() -> None:
    async with serve_api() as api:
        token = api.tokens["ada"]
        for name in ("token", "access_token", "api_key"):
            assert (await api.get(f"/v1/tasks?{name}={token}", who=None)).status == 401


ODD_PATHS: Final = (
    "//v1/tasks",
    "/v1//tasks",
    "/v1/tasks/",
    "/v1/%2e%2e/v1/tasks",
    "/%2e/v1/tasks",
    "/healthz/../v1/tasks",
    "/healthz/%2e%2e/v1/tasks",
    "/healthz%2f..%2fv1%2ftasks",
    "/docs/../v1/tasks",
    "/v1/tasks/%2e%2e",
    "/V1/TASKS",
    "/v1/tasks;/healthz",
    "/v1/tasks%00",
    "/openapi.json/../v1/tasks",
)


async def test_odd_paths_do_not_bypass_authentication() -> None:
    async with serve_api() as api:
        for path in ODD_PATHS:
            for who in (None, "ada"):
                reply = await api.get(path, who=who)
                assert reply.status in ((401, 404) if who is None else (400, 404)), (path, who, reply.text)
                assert reply.headers["content-type"] == "application/problem+json"


async def test_problem_is_written_in_the_requested_language() -> None:
    async with serve_api() as api:
        body = {**TASK, "policies": {"timeout": "soon"}}
        english = await api.post("/v1/tasks", body)
        chinese = await api.post("/v1/tasks", body, headers={"Accept-Language": "fr;q=0.9, zh-CN, en;q=0.8"})
        for reply in (english, chinese):
            problem = reply.json
            assert reply.status == problem["status"] == 422
            assert problem["code"] == "bad_duration"
            assert problem["type"] == "urn:horae:problem:bad_duration"
            assert problem["instance"] == "/v1/tasks"
            assert problem["request_id"] == reply.headers["x-request-id"]
            (error,) = problem["errors"]
            assert error["pointer"] == "/policies/timeout"
            assert error["suggestion"] == problem["hint"]
        assert "timeout cannot be 'soon'." in english.json["detail"]
        assert "timeout 不能是“soon”。" in chinese.json["detail"]


async def test_valid_request_id_is_returned_and_others_are_replaced() -> None:
    async with serve_api() as api:
        returned = await api.get("/healthz", who=None, headers={"X-Request-Id": "trace-1.2:3"})
        assert returned.headers["x-request-id"] == "trace-1.2:3"
        for odd in ("a b", "x" * 65, "ü", "<script>"):
            made = await api.get("/healthz", who=None, headers={"X-Request-Id": odd})
            assert made.headers["x-request-id"].startswith("req_")


async def test_every_response_has_the_security_headers() -> None:
    async with serve_api() as api:
        for path, who in (
            ("/healthz", None),
            ("/v1/tasks", "ada"),
            ("/nothing", None),
            ("/v1/tasks", None),
            ("/docs", None),
        ):
            headers = (await api.get(path, who=who)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert headers["referrer-policy"] == "no-referrer"
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "server" not in headers


async def test_unknown_and_repeated_parameters_are_refused_with_the_nearest_name() -> None:
    async with serve_api() as api:
        unknown = await api.get("/v1/tasks?limti=5")
        assert (unknown.status, unknown.code) == (400, "unknown_parameter")
        assert "limit" in unknown.json["hint"].split(",")[0]
        assert (await api.get("/v1/tasks?limit=5&limit=6")).code == "parameter_twice"
        assert (await api.get("/v1/tasks?state=active&state=paused")).status == 200
        assert (await api.get("/v1/whoami?x=1")).code == "unknown_parameter"
        assert (await api.post("/v1/tasks?dryrun=true", TASK)).code == "unknown_parameter"
        assert (await api.get("/v1/tasks")).json["items"] == []


async def test_page_limit_is_between_1_and_200() -> None:
    async with serve_api() as api:
        for limit in ("0", "-1", "201", "1000000000", "abc", "1e9", "", "NaN", "1.5"):
            reply = await api.get(f"/v1/tasks?limit={limit}")
            assert (reply.status, reply.code) == (422, "bad_parameter_value"), limit


async def test_wrong_method_answers_405_with_the_allowed_methods() -> None:
    async with serve_api() as api:
        task = await api.create_task()
        refused = await api.request("PUT", "/v1/tasks", TASK)
        assert (refused.status, refused.code) == (405, "bad_method")
        assert refused.headers["allow"] == "GET, HEAD, OPTIONS, POST"
        options = await api.request("OPTIONS", f"/v1/tasks/{task['id']}", who=None)
        assert (options.status, options.text) == (204, "")
        assert options.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"
        assert "access-control-allow-origin" not in options.headers
        head = await api.request("HEAD", f"/v1/tasks/{task['id']}")
        whole = await api.get(f"/v1/tasks/{task['id']}")
        assert (head.status, head.text) == (200, "")
        assert head.headers["etag"] == whole.headers["etag"]
        assert head.headers["content-length"] == whole.headers["content-length"]
        assert (await api.request("HEAD", "/v1/tasks", who=None)).status == 401
        assert (await api.request("TRACE", "/v1/tasks")).status in (400, 405)


async def test_internal_error_details_are_not_exposed() -> None:
    async with serve_api() as api:

        async def broken(*_: object, **__: object) -> None:
            raise ZeroDivisionError("/secret/path of a table")

        api.service.overview.now = broken  # type: ignore[assignment]
        reply = await api.get("/v1/overview")
        assert (reply.status, reply.code) == (500, "internal_error")
        assert "secret" not in reply.text
        assert "Traceback" not in reply.text
        assert (await api.get("/v1/tasks")).status == 200


async def test_cors_allows_only_configured_origins() -> None:
    preflight = {"Origin": "https://ops.example.org", "Access-Control-Request-Method": "POST"}
    async with serve_api(settings=WebSettings(expects_engine=False, origins=("https://ops.example.org",))) as api:
        reply = await api.request("OPTIONS", "/v1/tasks", who=None, headers=preflight)
        assert reply.headers["access-control-allow-origin"] == "https://ops.example.org"
        assert "access-control-allow-credentials" not in reply.headers
        other = await api.request(
            "OPTIONS", "/v1/tasks", who=None, headers={**preflight, "Origin": "https://evil.example"}
        )
        assert "access-control-allow-origin" not in other.headers
        assert (await api.get("/v1/tasks", headers={"Origin": "https://ops.example.org"})).status == 200
    async with serve_api() as api:
        reply = await api.get("/v1/tasks", headers=preflight)
        assert "access-control-allow-origin" not in reply.headers


async def _keys_of_others_are_not_observable(api: Api) -> None:
    await api.service.tokens.make(LOCAL, owner="ada", name="second robot", agent="droid")
    api.tokens["droid"] = (await api.service.tokens.make(LOCAL, owner="ada", name="droid", agent="droid"))[1]
    body = {**TASK, "when": "every 1h, 3 times"}
    for name in ("taken", "free"):
        if name == "taken":
            assert (await api.put(f"/v1/tasks/by-key/{name}", body)).status == 201
        for who in ("bob", "robot", "droid"):
            # The responses are the same whether another owner has the key or the key is free.
            path = f"/v1/tasks/by-key/{name}"
            assert (await api.get(path, who=who)).status == 404, (name, who)
            tried = await api.put(f"{path}?dry_run=true", body, who=who)
            assert tried.status == 200, tried.text
            made = await api.put(path, body, who=who)
            assert made.status == 201, (name, who, made.text)
            again = await api.put(path, body, who=who)
            assert (again.status, again.json["id"]) == (200, made.json["id"])
            assert (await api.get(path, who=who)).json["id"] == made.json["id"]
            shown = await api.put(f"/v1/tasks/{made.json['id']}", {**body, "key": name}, who=who)
            assert shown.status == 200, shown.text
            posted = await api.post("/v1/tasks", {**body, "key": name}, who=who)
            assert (posted.status, posted.json["id"]) == (200, made.json["id"])


async def test_keys_of_other_owners_and_of_other_agents_are_not_observable() -> None:
    async with serve_api() as api:
        await _keys_of_others_are_not_observable(api)
