"""Every error as whoever asked is told of it: one table for exit codes and HTTP statuses, complete and tested."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

from ..choices import Language
from ..errors import (
    Conflict,
    HoraeError,
    InvalidSchedule,
    InvalidTask,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    Refusal,
    ServerUnreachable,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TooMuch,
    UnfitNode,
    UnknownStore,
    UnusableStore,
)


class Exit(IntEnum):
    """What the command line ends with."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    CONFLICT = 5
    INVALID = 6
    UNREACHABLE = 7
    TIMED_OUT = 8
    RUN_FAILED = 9
    INTERRUPTED = 130


class Answer(NamedTuple):
    exit: Exit
    status: int
    title: str
    title_zh: str


ANSWERS: Final[dict[type[HoraeError], Answer]] = {
    InvalidSchedule: Answer(Exit.INVALID, 422, "invalid schedule", "无效的计划"),
    InvalidTask: Answer(Exit.INVALID, 422, "invalid task", "无效的任务"),
    NotFound: Answer(Exit.NOT_FOUND, 404, "not found", "未找到"),
    Conflict: Answer(Exit.CONFLICT, 409, "conflict", "冲突"),
    NotAuthenticated: Answer(Exit.NOT_ALLOWED, 401, "not authenticated", "未通过身份验证"),
    NotAllowed: Answer(Exit.NOT_ALLOWED, 403, "not allowed", "没有权限"),
    TooMuch: Answer(Exit.NOT_ALLOWED, 429, "too much", "超出限制"),
    UnknownStore: Answer(Exit.UNREACHABLE, 503, "unknown store", "未知的存储"),
    ServerUnreachable: Answer(Exit.UNREACHABLE, 503, "server unreachable", "无法连接服务器"),
    UnfitNode: Answer(Exit.UNREACHABLE, 503, "unfit node", "节点不符合要求"),
    UnusableStore: Answer(Exit.UNREACHABLE, 503, "unusable store", "不可用的存储"),
    StoreUnavailable: Answer(Exit.UNREACHABLE, 503, "store unavailable", "存储不可用"),
    StoreFull: Answer(Exit.FAILED, 507, "no space left", "空间不足"),
    StoreDamaged: Answer(Exit.UNREACHABLE, 500, "store damaged", "存储已损坏"),
    StoreError: Answer(Exit.FAILED, 500, "store error", "存储错误"),
    Refusal: Answer(Exit.INVALID, 422, "refused", "被拒绝"),
    HoraeError: Answer(Exit.FAILED, 500, "error", "错误"),
}
"""From the special to the general: the first that fits answers."""


def answer_to(error: HoraeError) -> Answer:
    for kind in type(error).__mro__:
        if kind in ANSWERS:
            return ANSWERS[kind]
    return ANSWERS[HoraeError]


def problem_json(error: HoraeError, language: Language = "en") -> dict[str, Any]:
    """RFC 9457, with a code for programs and a hint for people."""
    answer = answer_to(error)
    told = error.in_language(language) if isinstance(error, Refusal) else None
    return {
        "type": "about:blank",
        "title": answer.title if language == "en" else answer.title_zh,
        "status": answer.status,
        "code": error.code if isinstance(error, Refusal) else answer.title.replace(" ", "_"),
        "detail": str(error) if told is None else told.message,
        "hint": "" if told is None else told.hint,
        "position": error.position if isinstance(error, Refusal) else None,
    }
