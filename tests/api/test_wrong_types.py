"""Every field of every request body gets values of every wrong type: the API refuses them, and never fails itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from tests.api.api_server import serve_api

_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1.5,
    10**30,
    "",
    "\x00",
    "\ud800",
    [],
    [[]],
    [None],
    {},
    {"a": {"b": []}},
)
_METHODS: Final = ("put", "post", "patch")


class _PathNames(dict[str, str]):
    """Values for the parameters of a path: a parameter without one gets its own name."""

    def __missing__(self, name: str) -> str:
        return name


def _variants(value: Any) -> Iterator[Any]:
    """Yield the value with one part at a time replaced by each of the wrong values."""
    yield from _VALUES
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from ({**value, name: other} for other in _variants(part))
    elif isinstance(value, list) and value:
        yield from ([other, *value[1:]] for other in _variants(value[0]))


def _bodies(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and an example body of every operation that takes one."""
    for path, operations in document["paths"].items():
        for method in _METHODS:
            content = operations.get(method, {}).get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                examples = [content.get("example"), *(each["value"] for each in content.get("examples", {}).values())]
                yield from ((method, path, example) for example in examples if example is not None)


@pytest.mark.parametrize("who", ["ada", "admin"])
async def test_values_of_wrong_types_are_refused(who: str) -> None:
    async with serve_api() as api:
        names = {"task_id": (await api.create_task(who))["id"], "name": "ops", "folder": "family", "run_id": "run_1"}
        assert (await api.put("/v1/destinations/ops", {"url": "json://host/"}, who=who)).status == 200
        if who == "admin":
            added = await api.post("/v1/groups", {"folder": "family", "name": "Family", "chat": "web:family"}, who=who)
            assert added.status == 201, added.text
        found = list(_bodies((await api.get("/openapi.json")).json))
        assert len(found) > 20, "the document has examples"
        failures = []
        for method, template, example in found:
            path = template.format_map(_PathNames(names))
            for body in _variants(example):
                reply = await api.request(method.upper(), path, body, who=who)
                if reply.status >= 500:
                    failures.append(f"{method} {path} {str(body)[:200]}: {reply.text[:120]}")
        assert failures == []
