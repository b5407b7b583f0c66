"""Catalogue of refusals that only the MCP tools have: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidTask, NotAllowed, NotFound, Refusal
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "zone_needed": RefusalEntry(
            InvalidTask,
            "No zone was given, and the owner '{owner}' has no default zone.",
            "Pass zone, the zone of the person you work for, for example Europe/Berlin or Asia/Shanghai.",
            "没有说明时区,所有者“{owner}”也没有默认时区。",
            "请传入 zone,即你所服务的人的时区,例如 Asia/Shanghai 或 Europe/Berlin。",
        ),
        "unknown_tool": RefusalEntry(
            NotFound,
            "There is no tool '{name}'.",
            "Ask for the list of tools; the nearest name is '{near}'.",
            "没有名为“{name}”的工具。",
            "请先列出可用的工具;最接近的名称是“{near}”。",
        ),
        "bad_do": RefusalEntry(
            InvalidTask,
            "What is to be done is not clear: {problem}.",
            'Give do a text, which is a prompt to yourself, or one of {{"http": …}}, {{"command": […]}}, {{"function": "…"}}.',
            "要做什么不清楚:{problem}。",
            'do 应为文本(给自己的提示),或 `{{"http": …}}`、`{{"command": […]}}`、`{{"function": "…"}}` 之一。',
        ),
        "two_spellings": RefusalEntry(
            InvalidTask,
            "'{one}' and '{other}' say the same thing.",
            "Give only one of them.",
            "“{one}”和“{other}”说的是同一件事。",
            "请只给出其中一个。",
        ),
        "foreign_origin": RefusalEntry(
            NotAllowed,
            "Pages of '{origin}' may not call this server.",
            "Call it without a browser, or have the operator add that origin to the settings.",
            "来自“{origin}”的页面不能在这里请求。",
            "请不要通过浏览器请求;或由管理员在设置中加入该来源。",
        ),
        "tool_broke": RefusalEntry(
            Refusal,
            "The tool failed; the log of the server has the error.",
            "Check with list_tasks whether it was done before you try again.",
            "执行过程中出现问题;详情见服务器日志。",
            "重试之前,请先用 list_tasks 查看是否已经完成。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
