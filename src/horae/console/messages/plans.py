"""Texts of the pages of stations and of their plans."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "plans": Message("Plans", "计划"),
    "plans_about": Message(
        "Messages to stations at planned times. Each plan is a task of its owner.",
        "在计划时间发送给站点的消息。每个计划都是其所有者的一个任务。",
    ),
    "plans_open": Message("Open plans", "未关闭的计划"),
    "plans_closed": Message("Closed within a day", "一天内关闭的计划"),
    "plans_none": Message("There are no plans.", "没有计划。"),
    "plans_name": Message("Plan", "计划"),
    "plans_station": Message("Station", "站点"),
    "plans_when": Message("When", "时间"),
    "plans_state": Message("State", "状态"),
    "plans_counter": Message("Counter", "计数"),
    "plans_time": Message("Time", "计划时间"),
    "plans_done": Message("Executed", "已执行"),
    "plans_last": Message("Last status", "最后状态"),
    "plans_executed": Message("Last execution", "最近执行"),
    "plans_task": Message("Task", "任务"),
    "plans_message": Message("Message", "消息"),
    "plans_frame": Message("Frame", "帧"),
    "plans_content": Message("Content", "内容"),
    "plans_results": Message("Newest results", "最近结果"),
    "plans_results_none": Message("It has not been executed yet.", "尚未执行。"),
    "plans_run": Message("Run", "运行"),
    "plans_participants": Message("Participants of the newest execution", "最近一次执行的参与者"),
    "plans_participant": Message("Participant", "参与者"),
    "plans_answer": Message("Answer", "应答"),
    "plans_unanswered": Message("no answer yet", "尚未应答"),
    "plans_state_none": Message("none", "无"),
    "plans_state_queued": Message("queued", "排队"),
    "plans_state_executing": Message("executing", "执行中"),
    "plans_state_retrying": Message("retrying", "重试中"),
    "plans_state_skipping": Message("skipping", "跳过中"),
    "plans_state_paused": Message("paused", "已暂停"),
    "plans_state_error": Message("error", "出错"),
    "plans_state_closed": Message("closed", "已关闭"),
    "stations_about": Message(
        "Stations are programs that join a node over ZeroMQ and execute calls of tasks and plans.",
        "站点是通过 ZeroMQ 加入节点并执行任务和计划调用的程序。",
    ),
    "stations_none": Message("There are no stations.", "没有站点。"),
    "stations_none_about": Message("The first key that may join makes one:", "允许第一个公钥加入时会创建站点："),
    "stations_name": Message("Station", "站点"),
    "stations_kind": Message("Kind", "类型"),
    "stations_keys": Message("Keys", "公钥"),
    "stations_not_joined": Message("has not joined", "未加入"),
    "stations_workers": Message("Workers of {name}", "{name} 的工作进程"),
    "stations_worker": Message("Worker", "工作进程"),
    "stations_node": Message("Node", "节点"),
    "stations_calls": Message("Calls / slots", "调用 / 槽位"),
    "stations_waiting": Message("Waiting calls", "等待的调用"),
    "stations_answered": Message("Answers", "应答"),
    "stations_last": Message("Last answer", "最近应答"),
    "stations_seen": Message("Seen", "最近活动"),
}
