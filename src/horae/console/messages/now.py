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
    "needs_more": Message("And {number} more tasks:", "另有 {number} 个任务:"),
    "running_now": Message("Running now", "正在运行"),
    "running_none": Message("Nothing is running.", "当前没有运行。"),
    "next_fires": Message("Next", "接下来"),
    "next_none": Message("Nothing is planned.", "没有计划中的运行。"),
    "strip_title": Message("24 hours past, 24 hours planned", "过去 24 小时与计划的 24 小时"),
    "strip_partial": Message("Planned: at least; there are more tasks.", "计划数为下限;还有更多任务。"),
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
    "need_predecessor_deleted": Message("a task that it ran after was deleted", "其前置任务已被删除"),
    "need_gate_failed": Message("its gate failed again and again", "其门控连续失败"),
    "need_stranded": Message("no node can run it", "没有节点可以运行"),
    "need_overdue": Message("overdue", "逾期"),
    "need_owner_revoked": Message("its owner was revoked", "其所有者已作废"),
    "need_review": Message("Review", "查看"),
    "empty_or": Message("Or here:", "或在这里:"),
    "empty_new": Message("New task", "新建任务"),
    # --- outage ----------------------------------------------------------------------------------------------------
    "outage_title": Message("No node ran from {since} to {until}", "{since} 至 {until} 没有节点运行"),
    "outage_clean": Message("the last one was stopped", "最后一个节点是正常停止的"),
    "outage_killed": Message("the last one died", "最后一个节点异常终止"),
    "outage_due": Message("{number} occurrences were due:", "期间到期 {number} 次:"),
    "outage_made_up": Message("{number} made up for", "补跑 {number} 次"),
    "outage_merged": Message("{number} merged into a later run", "{number} 次合并到之后的运行"),
    "outage_skipped": Message("{number} skipped by policy", "按策略跳过 {number} 次"),
    "outage_partial": Message("More came due; these are the newest.", "到期的不止这些;此处为最新的部分。"),
    "outage_missed": Message("missed {number}", "错过 {number} 次"),
    "outage_latest": Message("latest:", "最近一次:"),
    "outage_run_latest": Message("Run the latest", "补跑最近一次"),
    "outage_run_all": Message("Run all {number}", "补跑全部 {number} 次"),
    "outage_dismiss": Message("Dismiss", "知道了"),
    "outage_dismissed": Message("The outage is no longer shown.", "不再显示这次中断。"),
    "outage_running_latest": Message(
        "The latest missed occurrence of {name} will run.", "将补跑 {name} 错过的最近一次。"
    ),
    "outage_running_all": Message(
        "Every missed occurrence of {name} will run, in order.", "将按顺序补跑 {name} 错过的每一次。"
    ),
}
