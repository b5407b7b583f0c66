"""The OpenAPI document: every route, valid schemas, examples that work, responses that match it, and the `/docs` page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from jsonschema import Draft202012Validator

from horae.api.app import ROUTES
from tests.api.api_server import TASK, schema_validator, serve_api
from tests.api.route_rights import RIGHTS

ROOT: Final = Path(__file__).parents[2]
UNLISTED: Final = {"/docs", "/docs/docs.js", "/docs/docs.css", "/llms.txt", "/openapi.json", "/scheduled-tasks/console"}
_REFERENCE: Final = re.compile(r'"#/components/schemas/(\w+)"')


async def test_every_route_has_an_operation_id_a_summary_and_its_error_responses() -> None:
    async with serve_api() as api:
        document = (await api.get("/openapi.json", who=None)).json
        assert document["openapi"].startswith("3.1")
        listed = {f"{method.upper()} {path}" for path, operations in document["paths"].items() for method in operations}
        known = {f"{route.method} {route.path_format}" for route in ROUTES if route.path not in UNLISTED}
        assert listed == known
        operations = [each for path in document["paths"].values() for each in path.values()]
        ids = [each["operationId"] for each in operations]
        assert len(ids) == len(set(ids))
        for path, methods in document["paths"].items():
            for method, each in methods.items():
                assert bool(each["security"]) == ("401" in each["responses"]), (method, path)
                assert each["summary"]
                assert each["tags"]
        text = json.dumps(document)
        assert set(_REFERENCE.findall(text)) <= set(document["components"]["schemas"])
        for name, schema in document["components"]["schemas"].items():
            Draft202012Validator.check_schema(schema)
            assert "urn:horae:schema" not in json.dumps(schema), name


async def test_operations_that_need_a_token_declare_security() -> None:
    async with serve_api() as api:
        document = (await api.get("/openapi.json", who=None)).json
        for route, row in RIGHTS.items():
            method, _, path = route.partition(" ")
            operation = document["paths"].get(path.replace(":path", ""), {}).get(method.lower())
            if operation is not None:
                alone = {} not in operation["security"] and bool(operation["security"])
                assert alone == (row.needs != "public"), route


async def test_every_example_is_accepted_as_written() -> None:
    async with serve_api() as api:
        document = (await api.get("/openapi.json", who=None)).json
        task = (await api.create_task(when="0 0 * * *"))["id"]
        tried = 0
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                if "example" not in content or not path.startswith("/v1/"):
                    continue
                schema_validator(document, content["schema"]).validate(content["example"])
                filled_path = (
                    path.replace("{task_id}", task)
                    .replace("{name}", "ada")
                    .replace("{key}", "k")
                    .replace("{lane}", "l")
                )
                reply = await api.request(
                    method.upper(),
                    f"{filled_path}?dry_run=true" if "preview" not in path else filled_path,
                    content["example"],
                    who="admin",
                )
                named_elsewhere = "{" in filled_path or filled_path.endswith(("/approve", "/reject"))
                assert reply.status < 300 or (named_elsewhere and reply.status < 500), (method, path, reply.text)
                tried += 1
        assert tried > 10


async def test_responses_match_the_documented_schemas() -> None:
    async with serve_api() as api:
        document = (await api.get("/openapi.json", who=None)).json
        task = await api.create_task()
        await api.post(f"/v1/tasks/{task['id']}/run")
        await api.put("/v1/secrets/key", {"value": "x"})
        for path, operations in document["paths"].items():
            operation = operations.get("get")
            if operation is None or not path.startswith(("/v1/", "/healthz", "/readyz")):
                continue
            filled_path = path.replace("{task_id}", task["id"]).replace("{name}", "ada")
            reply = await api.get(filled_path, who="admin")
            documented = operation["responses"].get(str(reply.status))
            assert documented is not None, (path, reply.status)
            kind = reply.headers["content-type"]
            schema_validator(document, documented["content"][kind]["schema"]).validate(reply.json)
        for method, end, body in (
            ("post", "", TASK),
            ("patch", "/{task_id}", {"name": "y"}),
            ("put", "/{task_id}", TASK),
        ):
            reply = await api.request(method.upper(), "/v1/tasks" + end.replace("{task_id}", task["id"]), body)
            schema = document["paths"]["/v1/tasks" + end][method]["responses"][str(reply.status)]
            schema_validator(document, schema["content"]["application/json"]["schema"]).validate(reply.json)


async def test_docs_page_loads_nothing_external_and_has_no_inline_script() -> None:
    async with serve_api() as api:
        page = await api.get("/docs", who=None)
        assert page.headers["content-type"].startswith("text/html")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        parts = [await api.get(path, who=None) for path in ("/docs/docs.js", "/docs/docs.css")]
        assert [each.status for each in parts] == [200, 200]
        for text in (page.text, *(each.text for each in parts)):
            assert "http://" not in text
            assert "https://" not in text
            assert "innerHTML" not in text
        assert "<script>" not in page.text
        assert "onclick" not in page.text
        short = await api.get("/llms.txt", who=None)
        assert short.headers["content-type"].startswith("text/plain")
        assert "/openapi.json" in short.text


def test_http_manual_lists_every_route() -> None:
    manual = (ROOT / "docs/http.md").read_text(encoding="utf-8")
    written = set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /[^`? ]*)`", manual))
    known = {
        f"{route.method} {route.path_format}"
        for route in ROUTES
        if route.path.startswith(("/v1/", "/healthz", "/readyz", "/openapi", "/docs", "/llms"))
        and route.path not in {"/docs/docs.js", "/docs/docs.css"}
    }
    assert known - written == set()
    assert {each for each in written if each.split(" ")[1].startswith("/v1/")} - known == set()
