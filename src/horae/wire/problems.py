"""Maps every error class to a CLI exit code, an HTTP status and a title, and errors to problem documents."""

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


class ExitCode(IntEnum):
    """Exit codes of the command line."""

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


class ErrorMapping(NamedTuple):
    exit: ExitCode
    status: int
    title: str
    title_zh: str


ERROR_MAPPINGS: Final[dict[type[HoraeError], ErrorMapping]] = {
    InvalidSchedule: ErrorMapping(ExitCode.INVALID, 422, "invalid schedule", "无效的计划"),
    InvalidTask: ErrorMapping(ExitCode.INVALID, 422, "invalid request", "无效的请求"),
    UnknownAttribute: ErrorMapping(ExitCode.INVALID, 422, "unknown attribute", "未知的属性"),
    NotFound: ErrorMapping(ExitCode.NOT_FOUND, 404, "not found", "未找到"),
    Conflict: ErrorMapping(ExitCode.CONFLICT, 409, "conflict", "冲突"),
    NotAuthenticated: ErrorMapping(ExitCode.NOT_ALLOWED, 401, "not authenticated", "未通过身份验证"),
    NotAllowed: ErrorMapping(ExitCode.NOT_ALLOWED, 403, "not allowed", "没有权限"),
    TooMuch: ErrorMapping(ExitCode.NOT_ALLOWED, 429, "too much", "超出限制"),
    UnknownStore: ErrorMapping(ExitCode.UNREACHABLE, 503, "unknown store", "未知的存储"),
    ServerUnreachable: ErrorMapping(ExitCode.UNREACHABLE, 503, "server unreachable", "无法连接服务器"),
    UnfitNode: ErrorMapping(ExitCode.UNREACHABLE, 503, "unfit node", "节点不符合要求"),
    UnusableStore: ErrorMapping(ExitCode.UNREACHABLE, 503, "unusable store", "不可用的存储"),
    StoreReadOnly: ErrorMapping(ExitCode.UNREACHABLE, 503, "store read only", "存储只读"),
    StoreUnavailable: ErrorMapping(ExitCode.UNREACHABLE, 503, "store unavailable", "存储不可用"),
    StoreFull: ErrorMapping(ExitCode.FAILED, 507, "no space left", "空间不足"),
    StoreDamaged: ErrorMapping(ExitCode.UNREACHABLE, 500, "store damaged", "存储已损坏"),
    StoreError: ErrorMapping(ExitCode.FAILED, 500, "store error", "存储错误"),
    Refusal: ErrorMapping(ExitCode.INVALID, 422, "refused", "被拒绝"),
    HoraeError: ErrorMapping(ExitCode.FAILED, 500, "error", "错误"),
}
"""From special to general: the first class in the error's MRO counts."""

_STORE_ERRORS: Final[dict[type[HoraeError], dict[Language, Sentence]]] = {
    StoreFull: {
        "en": Sentence(
            "The store has no space left for another write.",
            "Free disk space where the store is, or keep less history, and try again: Horae continues by itself. Reading works.",
        ),
        "zh": Sentence(
            "存储已没有空间再写入。",
            "请在存储所在的机器上腾出磁盘空间，或少保留一些历史，然后重试：Horae 会自动继续。读取不受影响。",
        ),
    },
    StoreReadOnly: {
        "en": Sentence(
            "The store accepts no writes: it is read-only, or a standby.",
            "Make it writable, or use the server that is; then try again. Reading works.",
        ),
        "zh": Sentence(
            "存储不接受写入：它是只读的，或是备用服务器。",
            "请让它重新可写，或改用可写的服务器，然后重试。读取不受影响。",
        ),
    },
    StoreUnavailable: {
        "en": Sentence("The store cannot do this now.", "Try again soon; `horae doctor` shows the cause."),
        "zh": Sentence("存储目前无法完成此操作。", "请稍后重试；`horae doctor` 会指出问题所在。"),
    },
    StoreDamaged: {
        "en": Sentence(
            "The store is damaged.",
            "Stop all processes that use it and run `horae db check`; otherwise restore a backup.",
        ),
        "zh": Sentence("存储已损坏。", "请停止使用它并检查：`horae db check`；否则请恢复备份。"),
    },
    StoreError: {
        "en": Sentence("The store cannot do this now.", "Try again; if it persists, see the log of the process."),
        "zh": Sentence("存储目前无法完成此操作。", "请重试；若问题依旧，进程的日志中有更多说明。"),
    },
}
"""Public sentences for store errors; their own messages come from drivers and may name hosts, files and tables."""


def mapping_of(error: HoraeError) -> ErrorMapping:
    for kind in type(error).__mro__:
        if kind in ERROR_MAPPINGS:
            return ERROR_MAPPINGS[kind]
    return ERROR_MAPPINGS[HoraeError]


def sentence_of(error: HoraeError, language: Language = "en") -> Sentence:
    """Return the public sentence and hint of an error; empty for an error that has none."""
    if isinstance(error, Refusal):
        return error.in_language(language)
    for kind in type(error).__mro__:
        if kind in _STORE_ERRORS:
            return _STORE_ERRORS[kind][language]
    return Sentence("", "")


def public_error_json(error: HoraeError | None, language: Language = "en") -> dict[str, str] | None:
    """Encode code, detail and hint of an error without driver messages, which may name hosts, files and tables."""
    if error is None:
        return None
    sentence = sentence_of(error, language)
    return {"code": code_of(error), "detail": sentence.message, "hint": sentence.hint}


def code_of(error: HoraeError) -> str:
    return error.code if isinstance(error, Refusal) else mapping_of(error).title.replace(" ", "_")


def problem_json(error: HoraeError, language: Language = "en") -> dict[str, Any]:
    """Encode as RFC 9457, with `code` for programs and `hint` for people."""
    mapping = mapping_of(error)
    sentence = sentence_of(error, language)
    return {
        "type": "about:blank",
        "title": mapping.title if language == "en" else mapping.title_zh,
        "status": mapping.status,
        "code": code_of(error),
        "detail": sentence.message if isinstance(error, Refusal) else str(error),
        "hint": sentence.hint,
        "position": error.position if isinstance(error, Refusal) else None,
    }
