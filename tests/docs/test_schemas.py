"""Every wire shape is declared once: documents, OpenAPI components and tool schemas are generated from the declaration."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from docs.json_schemas import FOLDER, schema_files
from horae.api.compat.shapes import SCHEMAS
from horae.mcp_server.catalogue import TOOLS
from horae.model.task import TaskState
from horae.wire.schemas import SHAPES, components, json_schemas
from horae.wire.shapes.notation import TEXT, choice, closed, extend, extensible, nullable, omit, text


def test_documents_match_the_declarations() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written == schema_files(), "write them anew: python -m docs.reference"


def test_every_document_is_a_schema_whose_references_exist() -> None:
    documents = json_schemas()
    resources = [(schema["$id"], DRAFT202012.create_resource(schema)) for schema in documents.values()]
    registry: Registry[Any] = Registry().with_resources(resources)
    for name, schema in documents.items():
        Draft202012Validator.check_schema(schema)
        assert schema["title"], name
        for reference in _references(schema):
            assert registry.resolver().lookup(reference).contents, (name, reference)


def test_every_component_is_a_schema_whose_references_exist() -> None:
    shapes = components(SCHEMAS)
    assert set(SCHEMAS) | {name for name in SHAPES if not name.islower()} <= set(shapes)
    for name, schema in shapes.items():
        Draft202012Validator.check_schema(schema)
        for reference in _references(schema):
            assert reference.removeprefix("#/components/schemas/") in shapes, (name, reference)


def test_tool_schemas_name_properties_of_the_wire_shapes() -> None:
    checked = 0
    for name, entry in TOOLS.items():
        for part in ("task", "run"):
            properties = entry.output_schema["properties"].get(part, {}).get("properties", {})
            assert set(properties) <= set(SHAPES[part]["properties"]), name
            checked += len(properties)
    assert checked > 50


def test_notation_of_objects() -> None:
    shape = closed({"a": TEXT, "b": nullable(TEXT), "c": text(9, 1)}, optional=("b",))
    assert shape == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "c": {"type": "string", "minLength": 1, "maxLength": 9},
        },
        "required": ["a", "c"],
        "additionalProperties": False,
    }
    assert "required" not in closed({"a": TEXT}, required=())
    assert extensible({"a": TEXT, "b": TEXT}, required=("b",))["required"] == ["b"]
    assert extend(shape, {"d": TEXT, "e": TEXT}, optional=("e",))["required"] == ["a", "c", "d"]
    assert list(omit(shape, "a")["properties"]) == ["b", "c"]
    assert omit(shape, "a")["required"] == ["c"]
    assert choice(*TaskState, None)["enum"] == [*(state.value for state in TaskState), None]


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [reference for each in schema for reference in _references(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [reference for each in schema.values() for reference in _references(each)]


def test_documents_are_plain_json() -> None:
    for schema in json_schemas().values():
        assert json.loads(json.dumps(schema)) == schema
