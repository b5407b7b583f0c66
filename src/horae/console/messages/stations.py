"""Texts of the page of stations."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
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
