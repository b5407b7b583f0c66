"""An operation as JSON, out and in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..choices import Language
from ..model.accounts.operation import Operation, OperationState, TurnedDown
from .instants import instant, read_instant, utc


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
    }


def read_operation(said: Mapping[str, Any]) -> Operation:
    """As a server tells of it; the sentences came in the language that was asked for, and stand for both."""
    refusals = (
        TurnedDown(each["task_id"], each["task"], each["code"], each["detail"], each["detail"])
        for each in said["refusals"]
    )
    return Operation(
        id=said["id"],
        owner=said["owner"],
        agent=said["agent"],
        action=said["action"],
        filter=said["filter"],
        arguments=said["arguments"],
        created=instant(said["created"]),
        updated=instant(said["updated"]),
        state=OperationState(said["state"]),
        total=said["total"],
        done=said["done"],
        refused=said["refused"],
        refusals=tuple(refusals),
        cancelling=said["cancelling"],
        ended=read_instant(said["ended"]),
        problem=said["problem"],
    )
