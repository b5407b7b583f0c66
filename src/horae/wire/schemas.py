"""All wire shapes by name, and the documents generated from them: JSON Schemas and OpenAPI components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .shapes import (
    accounts,
    agent_safety,
    chats,
    commands,
    events,
    forecast,
    groups,
    messages,
    overview,
    requests,
    runs,
    targets,
    tasks,
    tasks_file,
)
from .shapes.notation import URN, Schema

SHAPES: Final[dict[str, Schema]] = {
    **tasks.SHAPES,
    **runs.SHAPES,
    **tasks_file.SHAPES,
    **overview.SHAPES,
    **accounts.SHAPES,
    **events.SHAPES,
    **messages.SHAPES,
    **agent_safety.SHAPES,
    **groups.SHAPES,
    **chats.SHAPES,
    **requests.SHAPES,
    **commands.SHAPES,
    **forecast.SHAPES,
    **targets.SHAPES,
}
"""A name in lower case is a document in `docs/schemas`; a capitalised one is an OpenAPI component."""
_COMPONENT_NAMES: Final = {
    "agent-limits": "Agent",
    "audit-row": "AuditRow",
    "audit-verify": "AuditVerdict",
    "backfill": "Backfill",
    "budget": "Budget",
    "chat-delivery": "ChatDelivery",
    "cursor": "Cursor",
    "delivery": "Delivery",
    "destination": "Destination",
    "failure-group": "FailureGroup",
    "fires": "Fires",
    "group": "Group",
    "group-status": "GroupStatus",
    "lane": "Lane",
    "lane-detail": "LaneDetail",
    "lane-status": "LaneStatus",
    "line": "Line",
    "messages": "Messages",
    "node": "Node",
    "notice": "Notice",
    "overview": "Overview",
    "owner": "Owner",
    "planned-run": "PlannedRun",
    "queued": "Queued",
    "retry-report": "RetryReport",
    "run": "Run",
    "run-chain": "RunChain",
    "secret": "Secret",
    "unregistered-chat": "UnregisteredChat",
    "view": "View",
    "sent": "Sent",
    "session": "Session",
    "station": "Station",
    "stream": "Stream",
    "stream-state": "StreamState",
    "task": "Task",
    "token": "Token",
    "webhook": "Webhook",
    "why": "Why",
}
"""Documents that are OpenAPI components too. A shape with the component's name, where there is one, is the HTTP variant."""


def json_schemas() -> dict[str, Schema]:
    """Return the JSON Schema documents by file name, without its ending."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {
        name: {**head, "$id": f"{URN}{name}", "title": shape["title"], **shape}
        for name, shape in sorted(SHAPES.items())
        if name.islower()
    }


def components(further: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the OpenAPI components by name, `further` ones included, with references into the OpenAPI document."""
    shapes = {component: _without_title(SHAPES[name]) for name, component in _COMPONENT_NAMES.items()}
    shapes |= {name: shape for name, shape in SHAPES.items() if not name.islower()} | dict(further)
    return {name: _to_component(shape) for name, shape in sorted(shapes.items())}


def _without_title(shape: Schema) -> Schema:
    """Drop the title, which names a command."""
    return {name: each for name, each in shape.items() if name != "title"}


def _to_component(value: Any) -> Any:
    """Point references into the OpenAPI document."""
    if isinstance(value, list):
        return [_to_component(each) for each in value]
    if not isinstance(value, dict):
        return value
    converted = {name: _to_component(each) for name, each in value.items()}
    reference = converted.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix(URN)
        converted["$ref"] = f"#/components/schemas/{_COMPONENT_NAMES.get(name, name)}"
    return converted
