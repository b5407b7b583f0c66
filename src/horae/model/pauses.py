"""Pauses: their notes in either language, and the record that links a skipped run to the pause in which it fell."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..choices import Language
from .record import Record, RecordWrite
from .run import Run
from .task import Pause, PauseCause

AGENT_STOPPED_NOTE: Final = "its agent was stopped"
GROUP_STOPPED_NOTE: Final = "the agent of its group was stopped"
ALL_STOPPED_NOTE: Final = "all agents were stopped"
_CHINESE: Final[dict[PauseCause, tuple[tuple[re.Pattern[str], str], ...]]] = {
    PauseCause.ORPHANED: (
        (re.compile("no function of this name is declared any more"), "已没有声明同名的函数"),
        (re.compile("it is declared as (.+) now"), r"现已声明为 \1"),
    ),
    PauseCause.QUOTA: ((re.compile("quota (.+)"), r"配额 \1"),),
    PauseCause.AWAITING_APPROVAL: (
        (re.compile("an agent made it: (?:a person|somebody) must approve it first"), "由智能体创建，须先获批准"),
    ),
    PauseCause.AGENT_STOPPED: (
        (re.compile(AGENT_STOPPED_NOTE), "其智能体已被停止"),
        (re.compile(GROUP_STOPPED_NOTE), "其群组的智能体已被停止"),
        (re.compile(ALL_STOPPED_NOTE), "所有智能体已被停止"),
    ),
    PauseCause.PREDECESSOR_DELETED: ((re.compile("predecessor deleted: (.+)", re.DOTALL), r"前置任务已删除：\1"),),
    PauseCause.OWNER_REVOKED: ((re.compile("owner_revoked"), "其令牌已被撤销"),),
}


def pause_note(pause: Pause, language: Language) -> str:
    if language == "zh":
        for pattern, chinese in _CHINESE.get(pause.cause, ()):
            found = pattern.fullmatch(pause.note)
            if found is not None:
                return found.expand(chinese)
    return pause.note


PAUSED_SPAN_KIND: Final = "paused_stretch"
"""Kind of the record; its key is the id of the run row."""
PAUSED_SPAN_RETENTION: Final = timedelta(days=90)


class PausedSpan(NamedTuple):
    since: datetime
    until: datetime


def paused_span_write(row: Run, pause: PausedSpan) -> RecordWrite:
    body = json.dumps({"since": pause.since.isoformat(), "until": pause.until.isoformat()})
    return RecordWrite(Record(PAUSED_SPAN_KIND, row.id, row.owner, body, expires=pause.until + PAUSED_SPAN_RETENTION))


def parse_paused_span(record: Record) -> PausedSpan:
    body = json.loads(record.body)
    return PausedSpan(datetime.fromisoformat(body["since"]), datetime.fromisoformat(body["until"]))
