"""Refusals of chat services: code, sentence and hint in two languages; never a token, a header or a text of a message."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidTask, NotAllowed, NotAuthenticated, NotFound, TooMuch
from ...ports.channel import DeliveryRefused
from ...ports.text_parts import TextLimit
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "channel_unknown": RefusalEntry(
            InvalidTask,
            "'{kind}' is not a kind of chat channel.",
            "The kinds are {names}.",
            "“{kind}”不是聊天渠道的类型。",
            "可用的类型有 {names}。",
        ),
        "channel_library_missing": RefusalEntry(
            InvalidTask,
            "The channel {service} needs a library that is not installed here.",
            "Install it with: pip install 'horae[agents]'",
            "渠道 {service} 需要一个尚未安装的库。",
            "请安装:pip install 'horae[agents]'",
        ),
        "channel_credentials": RefusalEntry(
            NotAuthenticated,
            "{service} does not accept the credentials of this channel: {problem}.",
            "Create new ones at {service}, put them in the file or secret that the settings name, and restart the node.",
            "{service} 不接受此渠道的凭据:{problem}。",
            "请在 {service} 重新创建凭据,写入设置所指的文件或机密,然后重新启动节点。",
        ),
        "channel_forbidden": RefusalEntry(
            NotAllowed,
            "{service} does not let this channel write to the chat: {problem}.",
            "Add the bot to the chat, and give it the right to write there.",
            "{service} 不允许此渠道在该聊天中发言:{problem}。",
            "请把机器人加入该聊天,并授予发言权限。",
        ),
        "channel_chat_unknown": RefusalEntry(
            NotFound,
            "{service} knows no chat '{chat}' of this channel.",
            "Check the id of the chat; the bot has to be a member of it.",
            "{service} 中此渠道没有聊天“{chat}”。",
            "请检查聊天的 ID;机器人必须是其成员。",
        ),
        "channel_window_closed": RefusalEntry(
            NotAllowed,
            "{service} takes no text for this chat: the person wrote last more than 24 hours ago.",
            "Wait until the person writes again; {service} then opens the chat for 24 hours.",
            "{service} 不接受发往此聊天的文本:对方最近一次发言已超过 24 小时。",
            "请等待对方再次发言;{service} 随后会开放 24 小时。",
        ),
        "channel_text_too_long": RefusalEntry(
            TooMuch,
            "The text has a length of {length}, and {service} takes at most {most}.",
            "Split it: a text of any length goes out in parts with horae.ports.channel.send_text.",
            "文本长度为 {length},{service} 最多接受 {most}。",
            "请拆分文本:horae.ports.channel.send_text 可以分段发送任意长度的文本。",
        ),
        "channel_rejected": RefusalEntry(
            InvalidTask,
            "{service} refused the text: {problem}.",
            "Look the error up in the documentation of {service}.",
            "{service} 拒绝了该文本:{problem}。",
            "请在 {service} 的文档中查找该错误。",
        ),
        "channel_unreachable": RefusalEntry(
            NotAllowed,
            "{service} may not be called: {problem}",
            "Check the base_url of the channel. A private network has to be in outgoing_networks of horae.toml.",
            "不允许访问 {service}:{problem}",
            "请检查该渠道的 base_url。私有网络必须列在 horae.toml 的 outgoing_networks 中。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


def check_length(service: str, limit: TextLimit, text: str) -> None:
    """Refuse a text that the service does not take as one message; the sender splits texts, so this finds a defect."""
    if not limit.allows(text):
        problem = refuse("channel_text_too_long", service=service, length=limit.measure(text), most=limit.most)
        raise DeliveryRefused(problem)
