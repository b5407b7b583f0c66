"""Chinese names of task and run states; in English the state value is the name."""

from __future__ import annotations

from typing import Final

from .choices import Language

CHINESE_STATE_NAMES: Final[dict[str, str]] = {
    "active": "活动",
    "paused": "暂停",
    "completed": "完成",
    "failed": "失败",
    "cancelled": "取消",
    "claimed": "已领取",
    "running": "运行中",
    "waiting": "等待中",
    "succeeded": "成功",
    "timed_out": "超时",
    "lost": "丢失",
    "skipped": "跳过",
    "open": "等待前置任务",
    "planned": "已安排",
}


def state_name(state: str, language: Language) -> str:
    """Return the name of a state; an unknown state is returned unchanged."""
    return state if language == "en" else CHINESE_STATE_NAMES.get(state, state)
