"""Refusals of operations: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, NotFound
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_such_operation": RefusalEntry(
            NotFound,
            "There is no operation '{id}'.",
            "List them with GET /v1/operations; they are kept for {days} days.",
            "没有操作“{id}”。",
            "可用 GET /v1/operations 列出;操作记录保留 {days} 天。",
        ),
        "operation_going": RefusalEntry(
            Conflict,
            "The operation '{id}' is still running, and an owner can have one at a time.",
            "Wait until it has ended, or cancel it: POST /v1/operations/{id}/cancel.",
            "操作“{id}”仍在进行,每个所有者同时只能有一个。",
            "请等它结束,或取消它:POST /v1/operations/{id}/cancel。",
        ),
        "operation_over": RefusalEntry(
            Conflict,
            "The operation has already ended as {state}.",
            "What it has done stays done; look at it with GET /v1/operations/{id}.",
            "该操作已以 {state} 结束。",
            "已完成的部分保持不变;可用 GET /v1/operations/{id} 查看。",
        ),
        "operation_contested": RefusalEntry(
            Conflict,
            "The operation '{id}' is being changed by other requests at the same time.",
            "Look at it, and try again.",
            "操作“{id}”同时被他人反复更改。",
            "请查看后重试。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
