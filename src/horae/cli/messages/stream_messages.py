"""Texts of `horae messages` and `horae deliveries`, in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...message import Message

STREAM_TITLES: Final = Message("STREAM|MESSAGES|FIRST|LAST|SIZE|OLDEST", "消息流|消息数|首号|末号|大小|最早")
NO_STREAMS: Final = Message(
    "No streams yet: horae messages send chat:1 'hello'", "还没有消息流:horae messages send chat:1 '你好'"
)
NO_MESSAGES: Final = Message("No messages after number {after}.", "{after} 号之后没有消息。")
GAP: Final = Message(
    "{count} messages, numbers {first} to {last}, were removed before every reader had passed them.",
    "编号 {first} 到 {last} 的 {count} 条消息在所有读取者处理之前已被删除。",
)
SENT: Final = Message("Message {number} of {stream}.", "{stream} 的第 {number} 号消息。")
MORE_MESSAGES: Final = Message(
    "More: horae messages read {stream} --after {value}", "更多:horae messages read {stream} --after {value}"
)
STREAM_SET: Final = Message("The stream {name} keeps its messages so.", "消息流 {name} 已按此保留消息。")
READER_AT: Final = Message(
    "The reader {reader} of {stream} has handled everything up to number {number}.",
    "{stream} 的读取者 {reader} 已处理到 {number} 号。",
)
READER_GONE: Final = Message("The reader {reader} of {stream} is removed.", "已移除 {stream} 的读取者 {reader}。")
REMOVE_STREAM: Final = Message(
    "Delete the stream {name} with {count} messages", "删除消息流 {name} 及其 {count} 条消息"
)
STREAM_GONE: Final = Message("The stream {name} is deleted.", "消息流 {name} 已删除。")
NO_READERS: Final = Message("No readers.", "没有读取者。")
CURSOR_TITLES: Final = Message("READER|HANDLED UP TO|MOVED|BY RUN", "读取者|已处理到|移动时间|移动它的运行")


DELIVERY_TITLES: Final = Message("DELIVERY|CHAT|CREATED|STATE|TRIES|TEXT", "投递|聊天|创建时间|状态|次数|文本")
STATES: Final = {
    "pending": Message("pending", "待发送"),
    "sent": Message("sent", "已发送"),
    "received": Message("received", "已送达"),
    "read": Message("read", "已读"),
    "failed": Message("failed", "失败"),
}
NO_DELIVERIES: Final = Message("No deliveries.", "没有投递。")
CHAT: Final = Message("chat", "聊天")
OWNER: Final = Message("owner", "所有者")
ORIGIN: Final = Message("from", "来源")
CREATED: Final = Message("created", "创建时间")
STATE: Final = Message("state", "状态")
NEXT_ATTEMPT: Final = Message("next attempt", "下次尝试")
ENDED: Final = Message("ended", "结束时间")
ATTEMPTS: Final = Message("attempts", "尝试次数")
PARTS: Final = Message("parts sent", "已发送部分")
REPEATED: Final = Message("maybe twice", "可能重复")
PROBLEM: Final = Message("problem", "问题")
TEXT: Final = Message("text", "文本")
RETRIED: Final = Message("{id} is sent again.", "{id} 将重新发送。")
DISCARD: Final = Message("Discard the text for {chat}", "丢弃发往 {chat} 的文本")
DISCARDED: Final = Message("{id} is discarded.", "{id} 已丢弃。")
