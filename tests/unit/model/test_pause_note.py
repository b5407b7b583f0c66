"""Pause notes written by Horae have a Chinese text; notes of users stay unchanged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.model.pauses import AGENT_STOPPED_NOTE, ALL_STOPPED_NOTE, GROUP_STOPPED_NOTE, pause_note
from horae.model.task import Pause, PauseCause
from horae.service.accounts.approval_policy import _PAUSE_NOTE
from horae.service.tasks.functions.declared_tasks import _ORPHAN_NOTE

SINCE = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cause", "note", "chinese"),
    [
        (PauseCause.ORPHANED, _ORPHAN_NOTE, "已没有声明同名的函数"),
        (PauseCause.ORPHANED, "it is declared as jobs.new now", "现已声明为 jobs.new"),
        (PauseCause.ORPHANED, "something else", "something else"),
        (PauseCause.QUOTA, "quota active_tasks", "配额 active_tasks"),
        (PauseCause.AWAITING_APPROVAL, _PAUSE_NOTE, "由智能体创建，须先获批准"),
        (PauseCause.AGENT_STOPPED, AGENT_STOPPED_NOTE, "其智能体已被停止"),
        (PauseCause.AGENT_STOPPED, GROUP_STOPPED_NOTE, "其群组的智能体已被停止"),
        (PauseCause.AGENT_STOPPED, ALL_STOPPED_NOTE, "所有智能体已被停止"),
        (PauseCause.OWNER_REVOKED, "owner_revoked", "其令牌已被撤销"),
        (PauseCause.REQUESTED, _ORPHAN_NOTE, _ORPHAN_NOTE),
    ],
)
def test_a_note_in_both_languages(cause: PauseCause, note: str, chinese: str) -> None:
    pause = Pause(SINCE, cause, note)
    assert (pause_note(pause, "en"), pause_note(pause, "zh")) == (note, chinese)
