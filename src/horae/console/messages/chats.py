"""Texts of the pages of chats."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "chats_about": Message(
        "Each group has a chat with its assistant. In web chats you write here; other chats are shown as they are in their service.",
        "每个群组有一个与助手的聊天。网页聊天可在此发送消息；其他聊天按其服务中的内容显示。",
    ),
    "chats_none": Message("There are no groups yet.", "还没有群组。"),
    "chats_none_about": Message("Register a chat as a group:", "将聊天登记为群组："),
    "chats_group": Message("Group", "群组"),
    "chats_chat": Message("Chat", "聊天"),
    "chats_last": Message("Last message", "最后一条消息"),
    "chats_pending": Message("Waiting to be sent", "待发送"),
    "chats_no_messages": Message("No messages yet.", "还没有消息。"),
    "chats_removed": Message(
        "Earlier messages are no longer kept. How long handled messages stay is the setting message_keep_read_for.",
        "更早的消息已不再保留。已处理消息的保留时间由设置 message_keep_read_for 决定。",
    ),
    "chats_messages": Message("Messages, newest last", "消息（最新的在最后）"),
    "chats_older": Message("Older messages", "更早的消息"),
    "chats_newer": Message("Newer messages", "更新的消息"),
    "chats_newest": Message("Newest messages", "最新的消息"),
    "chats_you": Message("you", "您"),
    "chats_assistant": Message("assistant", "助手"),
    "chats_edited": Message("edited", "已编辑"),
    "chats_deleted": Message("deleted", "已删除"),
    "chats_quoted": Message("answers {name}", "回复 {name}"),
    "chats_run": Message("its run", "对应的运行"),
    "chats_cut": Message("… {number} more characters", "…… 还有 {number} 个字符"),
    "chats_tasks": Message("Tasks of this group", "此群组的任务"),
    "chats_stream": Message("As a stream", "以消息流查看"),
    "chats_working": Message("The assistant is working …", "助手正在处理……"),
    "chats_write": Message("Message", "消息"),
    "chats_send": Message("Send", "发送"),
    "chats_send_hint": Message("Enter sends, Shift+Enter begins a new line.", "按 Enter 发送，按 Shift+Enter 换行。"),
    "chats_trigger_hint": Message(
        "The assistant answers messages that begin with {trigger}.", "助手只回复以 {trigger} 开头的消息。"
    ),
    "chats_read_only": Message(
        "Messages of this chat are written in {channel}. Here it can only be read.",
        "此聊天的消息须在 {channel} 中发送，这里只能查看。",
    ),
    "chats_may_not_write": Message(
        "You may read this chat, and not write in it.", "您可以查看此聊天，但不能发送消息。"
    ),
    "chats_open_deliveries": Message("Texts that were not sent", "尚未发送的文本"),
    "chats_delivery_attempts": Message("{number} attempts", "尝试 {number} 次"),
    "chats_delivery_next": Message("next attempt", "下次尝试"),
    "chats_retry": Message("Send again", "重新发送"),
    "chats_discard": Message("Discard", "丢弃"),
    "chats_retried": Message("The text is sent again.", "文本将重新发送。"),
    "chats_discarded": Message("The text is discarded.", "文本已丢弃。"),
    "chats_state_pending": Message("waiting", "待发送"),
    "chats_state_sent": Message("sent", "已发送"),
    "chats_state_received": Message("received", "已送达"),
    "chats_state_read": Message("read", "已读"),
    "chats_state_failed": Message("not sent", "未发送"),
}
