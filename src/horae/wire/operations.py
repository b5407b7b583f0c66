"""Bulk operations to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..choices import Language
from ..model.accounts.operation import Operation, OperationState, RefusedTask
from .instants import parse_instant, parse_optional_instant, utc


def operation_json(operation: Operation, language: Language = "en") -> dict[str, Any]:
    return {
        "id": operation.id,
        "owner": operation.owner,
        "agent": operation.agent,
        "action": operation.action,
        "filter": operation.filter,
        "arguments": operation.arguments,
        "state": operation.state.value,
        "cancelling": operation.cancelling and operation.state is OperationState.RUNNING,
        "created": utc(operation.created),
        "updated": utc(operation.updated),
        "ended": utc(operation.ended),
        "total": operation.total,
        "done": operation.done,
        "refused": operation.refused,
        "refusals": [
            {
                "task_id": each.task_id,
                "task": each.task,
                "code": each.code,
                "detail": each.en if language == "en" else each.zh,
            }
            for each in operation.refusals
        ],
        "problem": operation.problem,
        "changed": operation.changed,
        "undo_until": utc(operation.undo_until),
        "undone_by": operation.undone_by,
    }


def read_operation(data: Mapping[str, Any]) -> Operation:
    """Decode an operation. The server's sentences are in the requested language and are used for both."""
    refusals = (
        RefusedTask(each["task_id"], each["task"], each["code"], each["detail"], each["detail"])
        for each in data["refusals"]
    )
    return Operation(
        id=data["id"],
        owner=data["owner"],
        agent=data["agent"],
        action=data["action"],
        filter=data["filter"],
        arguments=data["arguments"],
        created=parse_instant(data["created"]),
        updated=parse_instant(data["updated"]),
        state=OperationState(data["state"]),
        total=data["total"],
        done=data["done"],
        refused=data["refused"],
        refusals=tuple(refusals),
        cancelling=data["cancelling"],
        ended=parse_optional_instant(data["ended"]),
        problem=data["problem"],
        changed=data.get("changed", 0),
        undone_by=data.get("undone_by"),
    )
