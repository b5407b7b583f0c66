"""Catalogue of refusals for operations and their undo."""

from __future__ import annotations

from typing import Final

from ....errors import Conflict, NotFound
from ....refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_such_operation": RefusalEntry(
            NotFound,
            "There is no operation '{id}'.",
            "The action printed or answered its id; GET /v1/operations lists all of the last {days} days.",
            "没有操作“{id}”。",
            "执行操作时会给出其标识;GET /v1/operations 列出最近 {days} 天的全部操作。",
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
        "operation_ended_early": RefusalEntry(
            Conflict,
            "It ended as {state} when {done} of {total} tasks were done (operation {id}).",
            "What was done stays done; do it again for the others.",
            "操作在完成 {total} 个任务中的 {done} 个后以 {state} 结束(操作 {id})。",
            "已完成的部分保持不变;请对其余任务重新执行。",
        ),
        "nothing_to_undo": RefusalEntry(
            Conflict,
            "The operation '{id}' paused, resumed or cancelled no task, so there is nothing to undo.",
            "Only a bulk pause, resume or cancel that changed a task can be undone.",
            "操作“{id}”没有暂停、恢复或取消任何任务,无可撤销。",
            "只有更改过任务的批量暂停、恢复或取消才能撤销。",
        ),
        "already_undone": RefusalEntry(
            Conflict,
            "The operation '{id}' was already undone by the operation '{by}'.",
            "Look at what it restored: GET /v1/operations/{by}.",
            "操作“{id}”已由操作“{by}”撤销。",
            "可查看其恢复的内容:GET /v1/operations/{by}。",
        ),
        "undo_expired": RefusalEntry(
            Conflict,
            "The operation '{id}' could be undone until {until}.",
            "Pause or resume the tasks by a filter instead; bring back a cancelled one with 'horae undo TASK'.",
            "操作“{id}”只能在 {until} 之前撤销。",
            "请改为按筛选条件暂停或恢复任务;已取消的任务可用“horae undo 任务”恢复。",
        ),
    }
)

refuse: Final = CATALOGUE.refuse
