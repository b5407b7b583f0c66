"""Texts of `horae deliveries`."""

from __future__ import annotations

from typing import Final

from ...message import Message

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
