"""Texts of the pages of message streams."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "streams_about": Message(
        "A stream holds the numbered messages of one conversation. A reader's cursor moves with the run that handled the messages.",
        "消息流保存一个会话中带编号的消息。读取者的游标随处理消息的运行一起移动。",
    ),
    "streams_none": Message("There are no message streams.", "没有消息流。"),
    "streams_none_about": Message("The first message creates one:", "第一条消息会创建消息流:"),
    "streams_name": Message("Stream", "消息流"),
    "streams_stored": Message("Messages", "消息"),
    "streams_numbers": Message("Numbers", "编号"),
    "streams_number_range": Message("{first} to {last}", "{first} 至 {last}"),
    "streams_empty": Message("no messages", "无消息"),
    "streams_size": Message("Bytes", "字节"),
    "streams_oldest": Message("Oldest", "最早"),
    "streams_keep": Message("Keeps", "保留"),
    "streams_keep_count": Message("{number} messages", "{number} 条消息"),
    "streams_keep_usual": Message("as the deployment", "按部署设置"),
    "streams_readers": Message("Readers", "读取者"),
    "streams_reader": Message("Reader", "读取者"),
    "streams_cursor": Message("Handled up to", "已处理至"),
    "streams_unread": Message("Unread", "未读"),
    "streams_moved": Message("Moved", "移动时间"),
    "streams_moved_by": Message("Moved by", "移动者"),
    "streams_run": Message("run", "运行"),
    "streams_readers_none": Message("No reader is registered.", "没有登记的读取者。"),
    "streams_gaps": Message("Gaps", "缺口"),
    "streams_gap": Message(
        "{first} to {last}: {number} messages were removed before every reader had passed them",
        "{first} 至 {last}:{number} 条消息在全部读取者处理之前被删除",
    ),
    "streams_messages": Message("Messages, newest last", "消息(最新的在最后)"),
    "streams_messages_none": Message("No messages here.", "此处没有消息。"),
    "streams_older": Message("Older messages", "更早的消息"),
    "streams_newer": Message("Newer messages", "更新的消息"),
    "streams_newest": Message("Newest messages", "最新的消息"),
    "streams_cut": Message("… {number} more characters", "…… 还有 {number} 个字符"),
    "streams_by_task": Message("a run of this task", "此任务的运行"),
    "streams_here": Message("{reader} is here", "{reader} 处理到此"),
    "streams_references": Message("References", "引用"),
}
