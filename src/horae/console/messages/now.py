"""Texts of the Now page."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "on_time_24h": Message("On time, 24 h", "准时率,24 小时"),
    "on_time_none": Message("no runs yet", "尚无运行"),
    "lateness_24h": Message("Lateness p50 / p99", "延迟 p50 / p99"),
    "due_next_hour": Message("Due next hour", "未来一小时到期"),
    "needs_you": Message("Needs you", "需要您处理"),
    "needs_nothing": Message("Nothing needs you.", "没有需要您处理的事项。"),
    "running_now": Message("Running now", "正在运行"),
    "running_none": Message("Nothing is running.", "当前没有运行。"),
    "next_fires": Message("Next", "接下来"),
    "next_none": Message("Nothing is planned.", "没有计划中的执行。"),
    "strip_title": Message("24 hours past, 24 hours planned", "过去 24 小时与计划的 24 小时"),
    "strip_now": Message("now", "现在"),
    "nodes": Message("Nodes", "节点"),
    "nodes_none": Message(
        "No node is running: due tasks wait. Start one:", "没有节点在运行:到期的任务在等待。请启动一个:"
    ),
    "clock_offset": Message("clock {offset}", "时钟 {offset}"),
    "empty_title": Message("No tasks yet", "还没有任务"),
    "empty_about": Message("Make the first one on a terminal:", "在终端创建第一个任务:"),
    "since": Message("since {time}", "自 {time}"),
    # --- kinds of need ---------------------------------------------------------------------------------------------
    "need_failed": Message("gave up", "已放弃"),
    "need_failing": Message("failing", "持续失败"),
    "need_orphaned": Message("its code is gone", "其代码已不存在"),
    "need_awaiting_approval": Message("waits for approval", "等待批准"),
    "need_stranded": Message("no node can run it", "没有节点可以运行"),
    "need_overdue": Message("overdue", "逾期"),
    "need_owner_revoked": Message("its owner was revoked", "其所有者已被撤销"),
}
