"""Refusals for chats and deliveries: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotFound, TooMuch
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_such_chat_delivery": RefusalEntry(
            NotFound,
            "There is no delivery '{id}'.",
            "List them: horae deliveries ls. Those that have ended are kept for {days} days.",
            "没有投递“{id}”。",
            "列出投递:horae deliveries ls。已结束的投递保留 {days} 天。",
        ),
        "delivery_not_failed": RefusalEntry(
            Conflict,
            "The delivery '{id}' is {state}: only a failed one is sent again.",
            "Look at it: horae deliveries show {id}",
            "投递“{id}”的状态是 {state}:只有失败的投递可以重新发送。",
            "查看它:horae deliveries show {id}",
        ),
        "delivery_not_open": RefusalEntry(
            Conflict,
            "The delivery '{id}' is {state}: only a pending or failed one is discarded.",
            "Look at it: horae deliveries show {id}",
            "投递“{id}”的状态是 {state}:只有待发送或失败的投递可以丢弃。",
            "查看它:horae deliveries show {id}",
        ),
        "delivery_contested": RefusalEntry(
            Conflict,
            "The delivery '{id}' is being changed at the same time.",
            "Try again.",
            "投递“{id}”正在同时被更改。",
            "请再试一次。",
        ),
        "too_many_deliveries": RefusalEntry(
            TooMuch,
            "{owner} has {most} texts that wait to be sent, as many as allowed.",
            "Discard some: horae deliveries ls --state pending; horae deliveries discard ID",
            "{owner} 已有 {most} 条待发送的文本,达到上限。",
            "请丢弃一些:horae deliveries ls --state pending;horae deliveries discard ID",
        ),
        "no_such_chat": RefusalEntry(
            NotFound,
            "No group has the chat '{chat}'.",
            "Use the address of a group's chat, such as web:family; GET /v1/chats lists them.",
            "没有群组使用聊天“{chat}”。",
            "请使用群组的聊天地址,例如 web:family;GET /v1/chats 会列出它们。",
        ),
        "chat_read_only": RefusalEntry(
            Conflict,
            "The chat '{chat}' is read here only: its messages are written in {channel}.",
            "Write there, or use a group whose chat begins with web:.",
            "聊天“{chat}”在此只读:消息须在 {channel} 中发送。",
            "请在那里发送,或使用聊天地址以 web: 开头的群组。",
        ),
        "empty_chat_message": RefusalEntry(
            InvalidTask,
            "A message to a chat needs a text.",
            "Give a text with at least one visible character.",
            "发送到聊天的消息必须有文本。",
            "请给出至少包含一个可见字符的文本。",
        ),
    }
)
refuse = CATALOGUE.refuse
