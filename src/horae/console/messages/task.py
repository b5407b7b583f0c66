"""Texts of the task page, its actions, its backfill and its explanations."""

from __future__ import annotations

from typing import Final

from ...message import Message

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

TEXTS: Final[dict[str, Message]] = {
    # --- heading -----------------------------------------------------------------------------------------------------
    "task_created": Message("created {time}", "创建于 {time}"),
    "task_made_by_run": Message("made by a run, depth {depth}", "由一次运行创建，第 {depth} 层"),
    "task_made_by_message": Message("after message {number}", "在消息 {number} 之后"),
    "task_via": Message("via {via}", "通过 {via}"),
    "task_agent": Message("by agent {agent}", "由智能体 {agent} 创建"),
    "task_token": Message("token {token}", "令牌 {token}"),
    "task_revision": Message("revision {number}", "第 {number} 版"),
    "task_chain": Message("Chain", "任务链"),
    "chain_on_succeeded": Message("after success", "成功后"),
    "chain_on_failed": Message("after failure", "失败后"),
    "chain_on_ended": Message("after any end", "结束后"),
    "chain_mode_any": Message("any of several", "任一前置任务"),
    "chain_mode_all": Message("when all have ended so", "全部前置任务"),
    "chain_repeated": Message("(see above)", "(见上文)"),
    "chain_cut": Message("The chain has more tasks than are shown.", "任务链中还有未显示的任务。"),
    "task_occurrences": Message("{number} occurrences", "共 {number} 次"),
    "task_skips_left": Message("The next {number} occurrences are skipped.", "接下来的 {number} 次将被跳过。"),
    "task_backfill_left": Message("Backfill: {number} occurrences left", "补跑:还剩 {number} 次"),
    "task_backfill_done": Message("The backfill is done.", "补跑已完成。"),
    "task_rejected": Message("It was rejected.", "已被拒绝。"),
    "task_rejected_because": Message("It was rejected: {reason}", "已被拒绝:{reason}"),
    "task_failures": Message("{number} occurrences failed in a row.", "已连续失败 {number} 次。"),
    # --- actions -----------------------------------------------------------------------------------------------------
    "task_pause_change": Message("Change the pause", "更改暂停"),
    "task_skip_next": Message("Skip next", "跳过下一次"),
    "task_skip_none": Message("Skip none", "取消跳过"),
    "task_backfill": Message("Backfill", "补跑"),
    "task_delete_about": Message(
        "The task goes with its history. This cannot be undone.", "任务及其历史将一并删除,且无法撤销。"
    ),
    "task_delete_confirm": Message("Type its name to confirm:", "请输入其名称以确认:"),
    "task_check_gate": Message("Check the gate", "检查门控"),
    "task_gate_asked": Message("The gate of {task} is checked: {run}", "正在检查 {task} 的门控:{run}"),
    "task_run_requested": Message("{task} runs once more, now: {run}", "{task} 立即额外运行一次:{run}"),
    "task_paused": Message("{task} is paused.", "{task} 已暂停。"),
    "task_restore": Message("Undo the cancel", "撤销取消"),
    "task_restored": Message("{task} is there again, as it was before the cancel.", "{task} 已恢复为取消前的状态。"),
    "task_resumed": Message("{task} goes on.", "{task} 已恢复。"),
    "task_skips": Message(
        "The next {number} occurrences of {task} are skipped.", "{task} 接下来的 {number} 次将被跳过。"
    ),
    "task_skips_none": Message("No occurrence of {task} is skipped any more.", "不再跳过 {task} 的任何一次。"),
    "task_deleted": Message("{task} was deleted.", "已删除 {task}。"),
    "task_backfill_queued": Message(
        "{number} occurrences were queued. They run one by one.", "已排队 {number} 次,将逐一运行。"
    ),
    "resume_effect": Message("{runs} run, {skipped} skipped", "运行 {runs} 次,跳过 {skipped} 次"),
    # --- charts ------------------------------------------------------------------------------------------------------
    "task_heat": Message("Last 90 days, worst outcome of each day", "最近 90 天,每天最差的结果"),
    "task_late": Message("late", "延迟"),
    "task_late_than": Message("late (over {limit})", "延迟(超过 {limit})"),
    "task_day": Message("Day", "日期"),
    "task_no_runs": Message("no runs", "没有运行"),
    "task_runs_cut": Message(
        "Counts the newest {number} runs; earlier ones are in the list of runs.",
        "只统计最近 {number} 次运行;更早的请看运行列表。",
    ),
    "task_monday": Message("Mon", "周一"),
    "task_wednesday": Message("Wed", "周三"),
    "task_friday": Message("Fri", "周五"),
    **{f"task_month_{number}": Message(name, f"{number}月") for number, name in enumerate(_MONTHS, 1)},
    "task_next_fires": Message("Next fires", "接下来的触发时间"),
    "task_will_skip": Message("will be skipped", "将被跳过"),
    "task_fires_paused": Message("Nothing fires while the task is paused.", "任务暂停期间不会触发。"),
    "task_plot_lateness": Message("Lateness of the newest {number} runs", "最近 {number} 次运行的延迟"),
    "task_plot_duration": Message("Duration of the newest {number} runs", "最近 {number} 次运行的时长"),
    "task_plot_table": Message("Lateness and duration", "延迟与时长"),
    "task_plot_about": Message(
        "Logarithmic scale. A point leads to its explanation; the table is below the duration.",
        "对数刻度。点击可查看说明;表格在时长图下方。",
    ),
    "outcome_succeeded": Message("succeeded", "成功"),
    "outcome_skipped": Message("skipped", "跳过"),
    "outcome_running": Message("running", "运行中"),
    "outcome_cancelled": Message("cancelled", "取消"),
    "outcome_missed": Message("missed", "错过"),
    "outcome_timed_out": Message("timed out", "超时"),
    "outcome_failed": Message("failed", "失败"),
    # --- tabs --------------------------------------------------------------------------------------------------------
    "task_tab_runs": Message("Runs", "运行"),
    "task_tab_definition": Message("Definition", "定义"),
    "task_tab_activity": Message("Activity", "活动"),
    "task_definition_about": Message("Revision {number}, as JSON.", "第 {number} 版,JSON 格式。"),
    "task_definition_cut": Message(
        "Cut after 64 kB; the command shows all of it.", "已截断至 64 kB;上面的命令可显示全部。"
    ),
    "task_attempt": Message("Attempt", "尝试"),
    "task_error": Message("Error", "错误"),
    "origin_manual": Message("by hand", "手动"),
    "origin_backfill": Message("backfill", "补跑"),
    "origin_chain": Message("after another task", "在其他任务之后"),
    "task_audit_at": Message("Time", "时间"),
    "task_audit_action": Message("Action", "操作"),
    "task_audit_by": Message("By", "操作者"),
    "task_audit_detail": Message("Details", "详情"),
    "task_audit_searched": Message(
        "Searched the newest {number} rows of the audit trail.", "已搜索最近 {number} 条审计记录。"
    ),
    # --- backfill ----------------------------------------------------------------------------------------------------
    "backfill_about": Message(
        "Runs the occurrences of a past range, one by one. Those that were backfilled before stay as they are.",
        "逐一运行过去一段时间内的各次执行。之前补跑过的保持不变。",
    ),
    "backfill_from": Message("From", "从"),
    "backfill_to": Message("To", "到"),
    "backfill_to_example": Message("yesterday", "昨天"),
    "backfill_again": Message("Run also those that were backfilled before", "之前补跑过的也再次运行"),
    "backfill_preview": Message("Preview", "预览"),
    "backfill_count": Message("{number} occurrences", "共 {number} 次"),
    "backfill_start": Message("Run {number} occurrences", "运行 {number} 次"),
    # --- why ---------------------------------------------------------------------------------------------------------
    "why_title": Message("Why did it run, or not?", "它为什么运行或没有运行?"),
    "why_at": Message("Instant", "时刻"),
    "why_example": Message("today at 9am", "今天早上9点"),
    "why_hint": Message(
        "2026-11-15T02:00Z, 09:00, yesterday, 'last Monday 18:00'; empty: the newest. Times are read in {zone}.",
        "2026-11-15T02:00Z、09:00、昨天、“上周一18:00”;留空:最近一次。时间按 {zone} 理解。",
    ),
    "why_facts": Message("Runs", "运行"),
    "why_fixes": Message("What to do", "处理办法"),
    "why_outage": Message("No node ran from {since} to {until}.", "{since} 至 {until} 没有节点在运行。"),
    "why_outage_clean": Message("The last one was stopped.", "最后一个节点是正常停止的。"),
    "why_outage_died": Message("The last one died.", "最后一个节点异常终止。"),
    "why_do_it": Message("Do it", "执行"),
    "why_go": Message("Go there", "前往"),
    "why_back": Message("Back to the task", "返回任务"),
}
