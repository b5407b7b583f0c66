"""JSON Schema check of command output: validates a value against a schema of docs/schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
SCHEMAS: dict[str, Any] = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
_REGISTRY: Registry[Any] = Registry().with_resources(
    [(each["$id"], Resource.from_contents(each)) for each in SCHEMAS.values()]
)


def check_schema(name: str, value: Any) -> Any:
    """Return `value` if it matches the schema; raises AssertionError with every mismatch."""
    validator = Draft202012Validator(SCHEMAS[name], registry=_REGISTRY)
    problems = [f"{'/'.join(map(str, each.path))}: {each.message}" for each in validator.iter_errors(value)]
    assert not problems, problems
    return value
