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
    Sentence,
    ServerUnreachable,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    TooMuch,
    UnfitNode,
    UnknownAttribute,
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
    InvalidTask: Answer(Exit.INVALID, 422, "invalid request", "无效的请求"),
    UnknownAttribute: Answer(Exit.INVALID, 422, "unknown attribute", "未知的属性"),
    NotFound: Answer(Exit.NOT_FOUND, 404, "not found", "未找到"),
    Conflict: Answer(Exit.CONFLICT, 409, "conflict", "冲突"),
    NotAuthenticated: Answer(Exit.NOT_ALLOWED, 401, "not authenticated", "未通过身份验证"),
    NotAllowed: Answer(Exit.NOT_ALLOWED, 403, "not allowed", "没有权限"),
    TooMuch: Answer(Exit.NOT_ALLOWED, 429, "too much", "超出限制"),
    UnknownStore: Answer(Exit.UNREACHABLE, 503, "unknown store", "未知的存储"),
    ServerUnreachable: Answer(Exit.UNREACHABLE, 503, "server unreachable", "无法连接服务器"),
    UnfitNode: Answer(Exit.UNREACHABLE, 503, "unfit node", "节点不符合要求"),
    UnusableStore: Answer(Exit.UNREACHABLE, 503, "unusable store", "不可用的存储"),
    StoreReadOnly: Answer(Exit.UNREACHABLE, 503, "store read only", "存储只读"),
    StoreUnavailable: Answer(Exit.UNREACHABLE, 503, "store unavailable", "存储不可用"),
    StoreFull: Answer(Exit.FAILED, 507, "no space left", "空间不足"),
    StoreDamaged: Answer(Exit.UNREACHABLE, 500, "store damaged", "存储已损坏"),
    StoreError: Answer(Exit.FAILED, 500, "store error", "存储错误"),
    Refusal: Answer(Exit.INVALID, 422, "refused", "被拒绝"),
    HoraeError: Answer(Exit.FAILED, 500, "error", "错误"),
}
"""From the special to the general: the first that fits answers."""

_BROKEN: Final[dict[type[HoraeError], dict[Language, Sentence]]] = {
    StoreFull: {
        "en": Sentence(
            "The store has no space left for another write.",
            "Make room where the store is, or keep less history, and ask again: all goes on by itself. Reading works.",
        ),
        "zh": Sentence(
            "存储已没有空间再写入。",
            "请在存储所在之处腾出空间，或少保留一些历史，然后重试：一切会自动继续。读取不受影响。",
        ),
    },
    StoreReadOnly: {
        "en": Sentence(
            "The store takes no writes: it is read-only, or a standby.",
            "Let it take writes again, or name the server that does; then ask again. Reading works.",
        ),
        "zh": Sentence(
            "存储不接受写入：它是只读的，或是备用服务器。",
            "请让它重新可写，或改用可写的服务器，然后重试。读取不受影响。",
        ),
    },
    StoreUnavailable: {
        "en": Sentence("The store cannot do this now.", "Ask again soon; `horae doctor` says what is wrong with it."),
        "zh": Sentence("存储目前无法完成此操作。", "请稍后重试；`horae doctor` 会指出问题所在。"),
    },
    StoreDamaged: {
        "en": Sentence("The store is damaged.", "Stop what uses it and look: `horae db check`; else restore a backup."),
        "zh": Sentence("存储已损坏。", "请停止使用它并检查：`horae db check`；否则请恢复备份。"),
    },
    StoreError: {
        "en": Sentence("The store cannot do this now.", "Ask again; if it stays, the log of the process says more."),
        "zh": Sentence("存储目前无法完成此操作。", "请重试；若问题依旧，进程的日志中有更多说明。"),
    },
}
"""What breaks is told in the words of whatever noticed it; here, what it comes to, without a word of our insides."""


def answer_to(error: HoraeError) -> Answer:
    for kind in type(error).__mro__:
        if kind in ANSWERS:
            return ANSWERS[kind]
    return ANSWERS[HoraeError]


def sentence_of(error: HoraeError, language: Language = "en") -> Sentence:
    """What may be told to anybody, and what would help."""
    if isinstance(error, Refusal):
        return error.in_language(language)
    for kind in type(error).__mro__:
        if kind in _BROKEN:
            return _BROKEN[kind][language]
    return Sentence("", "")


def told_of(error: HoraeError | None, language: Language = "en") -> dict[str, str] | None:
    """In short, for anybody: what a driver says may name hosts, files and tables."""
    if error is None:
        return None
    told = sentence_of(error, language)
    return {"code": code_of(error), "detail": told.message, "hint": told.hint}


def code_of(error: HoraeError) -> str:
    return error.code if isinstance(error, Refusal) else answer_to(error).title.replace(" ", "_")


def problem_json(error: HoraeError, language: Language = "en") -> dict[str, Any]:
    """RFC 9457, with a code for programs and a hint for people."""
    answer = answer_to(error)
    told = sentence_of(error, language)
    return {
        "type": "about:blank",
        "title": answer.title if language == "en" else answer.title_zh,
        "status": answer.status,
        "code": code_of(error),
        "detail": told.message if isinstance(error, Refusal) else str(error),
        "hint": told.hint,
        "position": error.position if isinstance(error, Refusal) else None,
    }
