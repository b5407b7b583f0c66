"""Texts of the Approvals page, and of quotas and confirmations on the administration pages."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "approvals_waiting": Message("Waiting for you", "等待您批准"),
    "approvals_none": Message("No task waits for approval.", "没有等待批准的任务。"),
    "approvals_none_about": Message(
        "A task that an agent makes waits here until a person approves it as it is. A token makes an agent:",
        "智能体创建的任务会在这里等待,直到有人按现状批准。创建令牌即可添加智能体:",
    ),
    "approvals_none_here": Message(
        "None of the agents on this page has a waiting task.", "本页的智能体没有等待批准的任务。"
    ),
    "approvals_via": Message("via {via}", "通过 {via}"),
    "approvals_since": Message("asked", "申请于"),
    "approvals_wants": Message("It would run:", "它将运行:"),
    "approvals_secret": Message(
        "The secret {secret} is revealed to the target, at {path}.", "机密 {secret} 会交给目标,位于 {path}。"
    ),
    "approvals_whole": Message("The whole task", "完整任务"),
    "approvals_fires": Message("Next fires, if approved now", "若现在批准,接下来的触发时间"),
    "approvals_no_fires": Message("It would not fire any more.", "不会再触发。"),
    "approvals_quotas": Message("Limits of the agent", "智能体的限额"),
    "approvals_digest": Message("Digest", "摘要"),
    "approvals_approve": Message("Approve", "批准"),
    "approvals_reject": Message("Reject", "拒绝"),
    "approvals_reject_about": Message(
        "The task is cancelled and never runs. The agent can propose another one.",
        "该任务将被取消,不会运行。智能体可以重新提出。",
    ),
    "approvals_stop": Message("Stop all of {agent}", "停止 {agent} 的全部任务"),
    "approvals_stop_short": Message("Stop all", "全部停止"),
    "approvals_restart": Message("Let it go on", "允许继续"),
    "approvals_pinned": Message(
        "The approval holds for exactly what is shown: any edit voids it.",
        "批准仅对所示内容有效:任何修改都会使其失效。",
    ),
    "approvals_approved": Message("{task} may run as it was shown.", "{task} 可按所示内容运行。"),
    "approvals_reason": Message("Reason (the agent reads it)", "理由(智能体可以读到)"),
    "approvals_rejected": Message("{task} was cancelled.", "{task} 已取消。"),
    "approvals_limited": Message("The limits of {agent} are saved.", "{agent} 的限额已保存。"),
    "approvals_stopped": Message(
        "{agent} is stopped: {number} tasks are paused, and it can make no more.",
        "{agent} 已停止:暂停了 {number} 个任务,且不能再新建。",
    ),
    "approvals_restarted": Message(
        "{agent} may go on: {number} tasks are resumed.", "{agent} 可以继续:恢复了 {number} 个任务。"
    ),
    "approvals_agents": Message("Agents", "智能体"),
    "approvals_agents_none": Message("There are no agents.", "没有智能体。"),
    "approvals_agent_active": Message("active", "正常"),
    "approvals_agent_stopped": Message("stopped", "已停止"),
    "approvals_agent_revoked": Message("its last token was revoked", "其最后一个令牌已作废"),
    "approvals_limits": Message("Limits", "限额"),
    "approvals_limit": Message("Limit…", "限制…"),
    # --- quotas ------------------------------------------------------------------------------------------------------
    "quota_shortest_interval": Message("Shortest interval", "最短间隔"),
    "quota_active_tasks": Message("Active tasks", "活动任务数"),
    "quota_payload_bytes": Message("Payload, bytes", "负载字节数"),
    "quota_runs_per_day": Message("Runs a day", "每日运行次数"),
    "quota_concurrent_runs": Message("Runs at once", "同时运行数"),
    "quota_longest_life": Message("Longest life of a task", "任务最长存续"),
    "quota_stored_tasks": Message("Tasks in any state", "任务总数"),
    "quota_stored_bytes": Message("Stored bytes", "存储字节数"),
    "quota_tokens": Message("Valid tokens", "有效令牌数"),
    "quota_requests_per_minute": Message("Requests a minute", "每分钟请求数"),
    "quota_event_streams": Message("Event streams at once", "同时事件流数"),
    "quota_idempotency_keys": Message("Idempotency keys a day", "每日幂等键数"),
    "quota_message_bytes": Message("Text of a message, bytes", "每条消息文本字节数"),
    "quota_message_streams": Message("Message streams", "消息流数"),
    "quota_stream_messages": Message("Messages in a stream", "每个消息流的消息数"),
    "quota_stream_readers": Message("Readers of a stream", "每个消息流的读取者数"),
    "quota_stored_message_bytes": Message("Bytes of messages", "消息字节数"),
    "quota_lanes": Message("Lanes", "通道数"),
    "quota_task_lanes": Message("Lanes of a task", "每个任务的通道数"),
    "quota_destinations": Message("Destinations of messages", "通知目的地数"),
    "quota_chain_depth": Message("Links in a chain", "每条链的链接数"),
    "quota_gate_bytes": Message("Data of a gate, bytes", "门控的数据字节数"),
    "quota_none": Message("no limit", "无限制"),
    "quota_chosen": Message("chosen", "单独设置"),
    "quota_hint": Message(
        "Empty: the default, which is shown in grey. none: no limit. Durations such as 5m or 1h30m.",
        "留空:使用默认值(灰色显示)。none:无限制。时长如 5m 或 1h30m。",
    ),
    # --- confirmation ------------------------------------------------------------------------------------------------
    "admin_type_word": Message("To confirm, type", "请输入以确认:"),
}
