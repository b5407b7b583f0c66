"""Lint of the OpenAPI document: the recommended rules of `redocly lint`, checked on the document of a running server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.api.api_server import serve_api

Document = dict[str, Any]
METHODS: Final = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
# A natural key may hold slashes and is the last part of its path. No task id is `by-key`, so both routes never match.
AMBIGUOUS: Final = frozenset({"/v1/tasks/by-key/{key}", "/v1/tasks/named/{name}"})


async def load_document() -> Document:
    async with serve_api() as api:
        found: Document = (await api.get("/openapi.json", who=None)).json
        return found


@pytest.fixture(scope="module")
def document() -> Document:
    return asyncio.run(load_document())


def _operations(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method.upper()} {path}", item[method]


def _nodes(node: Any, place: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield place, node
    for name, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _nodes(inner, f"{place}/{name}")


def _schemas(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema of the document except those inside examples."""
    for place, node in _nodes(document):
        if "/example" not in place and ("properties" in node or "type" in node or "enum" in node or "required" in node):
            yield place, node


def _problems(document: Document, rule: Callable[[Document], Iterator[str]]) -> list[str]:
    return list(rule(document))


# --- the rules ------------------------------------------------------------------------------------------------------


def no_empty_servers(document: Document) -> Iterator[str]:
    if not document.get("servers"):
        yield "no servers"
    for each in document.get("servers", ()):
        if each["url"] != "/" and each["url"].endswith("/"):
            yield f"server ends with a slash: {each['url']}"
        if "example.com" in each["url"] or "localhost" in each["url"]:
            yield f"server is an example: {each['url']}"


def info_license(document: Document) -> Iterator[str]:
    licence = document["info"].get("license") or {}
    if not licence.get("name") or not (licence.get("identifier") or licence.get("url")):
        yield "no licence"


def operation_ids(document: Document) -> Iterator[str]:
    seen: set[str] = set()
    for name, operation in _operations(document):
        found = operation.get("operationId", "")
        if not found or found in seen or quote(found, safe="") != found:
            yield f"{name}: {found!r}"
        seen.add(found)


def operation_responses(document: Document) -> Iterator[str]:
    for name, operation in _operations(document):
        statuses = operation["responses"]
        # The success of a WebSocket handshake is 101.
        for first in "4" if "101" in statuses else "24":
            if not any(each.startswith(first) for each in statuses):
                yield f"{name}: no {first}xx"
        for status, response in statuses.items():
            if not response.get("description"):
                yield f"{name}: {status} without a description"


def operation_texts(document: Document) -> Iterator[str]:
    for name, operation in _operations(document):
        if not operation.get("summary") or not operation.get("tags"):
            yield name


def security_defined(document: Document) -> Iterator[str]:
    known = document["components"]["securitySchemes"]
    for name, operation in _operations(document):
        if "security" not in operation or any(scheme not in known for each in operation["security"] for scheme in each):
            yield name


def path_parameters_defined(document: Document) -> Iterator[str]:
    for name, operation in _operations(document):
        declared = [(each["name"], each["in"]) for each in operation.get("parameters", ())]
        if len(declared) != len(set(declared)):
            yield f"{name}: a parameter twice"
        if {each for each, place in declared if place == "path"} != set(re.findall(r"\{(\w+)\}", name)):
            yield f"{name}: {declared}"


def paths_are_sound(document: Document) -> Iterator[str]:
    shapes: dict[str, str] = {}
    for path in document["paths"]:
        shape = re.sub(r"\{\w+\}", "{}", path)
        if (path.endswith("/") and path != "/") or "?" in path or "{}" in path or shape in shapes:
            yield path
        shapes[shape] = path


def no_ambiguous_paths(document: Document) -> Iterator[str]:
    paths = sorted(document["paths"])
    for number, one in enumerate(paths):
        for other in paths[number + 1 :]:
            if _are_ambiguous(one.split("/"), other.split("/")) and not {one, other} & AMBIGUOUS:
                yield f"{one} and {other}"


def _are_ambiguous(one: list[str], other: list[str]) -> bool:
    """Whether one path can match both templates, and neither is more specific in every segment."""
    if len(one) != len(other):
        return False
    varies = [(first.startswith("{"), second.startswith("{")) for first, second in zip(one, other, strict=True)]
    same = all(first == second or any(either) for first, second, either in zip(one, other, varies, strict=True))
    return same and (True, False) in varies and (False, True) in varies


def no_unresolved_references(document: Document) -> Iterator[str]:
    for place, node in _nodes(document):
        reference = node.get("$ref")
        if isinstance(reference, str):
            target: Any = document
            for part in reference.removeprefix("#/").split("/"):
                target = target.get(part) if isinstance(target, dict) else None
            if target is None:
                yield f"{place}: {reference}"


def no_unused_components(document: Document) -> Iterator[str]:
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        if f'"#/components/schemas/{name}"' not in text:
            yield name


def required_properties_are_defined(document: Document) -> Iterator[str]:
    everything = dict(_nodes(document))
    for place, schema in _schemas(document):
        required = schema.get("required")
        if isinstance(required, list) and "allOf" not in schema and not place.endswith("/properties"):
            # One of several alternatives has the properties of the schema that they belong to.
            whole = everything[re.sub(r"/(oneOf|anyOf|allOf)/\d+$", "", place)]
            for name in required:
                if name not in {**whole.get("properties", {}), **schema.get("properties", {})}:
                    yield f"{place}: {name}"


def enums_fit_their_type(document: Document) -> Iterator[str]:
    for place, schema in _schemas(document):
        if "enum" not in schema or "type" not in schema or place.endswith("/properties"):
            continue
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        allowed = tuple(each for kind in kinds for each in TYPES.get(kind, (object,)))
        if not all(isinstance(value, allowed) for value in schema["enum"]):
            yield place


RULES: Final = (
    no_empty_servers,
    info_license,
    operation_ids,
    operation_responses,
    operation_texts,
    security_defined,
    path_parameters_defined,
    paths_are_sound,
    no_ambiguous_paths,
    no_unresolved_references,
    no_unused_components,
    required_properties_are_defined,
    enums_fit_their_type,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_document_keeps_the_rule(document: Document, rule: Callable[[Document], Iterator[str]]) -> None:
    assert _problems(document, rule) == []


BROKEN: Final[dict[str, Callable[[Document], object]]] = {
    "no_empty_servers": lambda document: document.pop("servers"),
    "info_license": lambda document: document["info"].pop("license"),
    "operation_ids": lambda document: document["paths"]["/healthz"]["get"].update(operationId="list tasks"),
    "operation_responses": lambda document: document["paths"]["/healthz"]["get"]["responses"].pop("400"),
    "operation_texts": lambda document: document["paths"]["/healthz"]["get"].pop("summary"),
    "security_defined": lambda document: document["components"]["securitySchemes"].pop("token"),
    "path_parameters_defined": lambda document: document["paths"]["/v1/tasks/{task_id}"]["get"].pop("parameters"),
    "paths_are_sound": lambda document: document["paths"].update({"/v1/tasks/{other}": {}}),
    "no_ambiguous_paths": lambda document: document["paths"].update({"/v1/runs/newest/{number}": {}}),
    "no_unresolved_references": lambda document: document["components"]["schemas"].pop("Task"),
    "no_unused_components": lambda document: document["components"]["schemas"].update(Bulk={}),
    "required_properties_are_defined": lambda document: document["components"]["schemas"].update(
        Bad={"type": "object", "required": ["id"]}
    ),
    "enums_fit_their_type": lambda document: document["components"]["schemas"].update(
        Bad={"type": "string", "enum": [1]}
    ),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_finds_a_planted_mistake(document: Document, rule: Callable[[Document], Iterator[str]]) -> None:
    broken = json.loads(json.dumps(document))
    BROKEN[rule.__name__](broken)
    assert _problems(broken, rule)
