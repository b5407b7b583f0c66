"""Refusals of http targets: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidTask
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "http_unknown_key": RefusalEntry(
            InvalidTask,
            "An http target has no '{name}'.",
            "It has: {allowed}.",
            "http 目标没有“{name}”。",
            "可用的有:{allowed}。",
        ),
        "http_bad_value": RefusalEntry(
            InvalidTask,
            "The '{name}' of an http target cannot be '{value}'.",
            "Wanted: {wanted}.",
            "http 目标的“{name}”不能是“{value}”。",
            "应为:{wanted}。",
        ),
        "http_url_missing": RefusalEntry(
            InvalidTask,
            "An http target needs a URL.",
            'Give it as text, for example {{"url": "https://api.example.com/jobs"}}; secrets go into headers or the body.',
            "http 目标需要 URL。",
            '请以文本给出,例如 {{"url": "https://api.example.com/jobs"}};密钥请放在请求头或请求体中。',
        ),
        "http_unreadable": RefusalEntry(
            InvalidTask,
            "The {what} of this task cannot be read.",
            "Edit the task and give it anew.",
            "无法读取该任务的 {what}。",
            "请编辑任务并重新填写。",
        ),
        "http_body_too_large": RefusalEntry(
            InvalidTask,
            "With its secrets filled in, the body has {size} bytes; at most {most} are sent.",
            "Store the data elsewhere and send a reference to it.",
            "填入密钥后,请求体有 {size} 字节;最多发送 {most} 字节。",
            "请把数据存放在别处,只发送引用。",
        ),
        "http_unknown_setting": RefusalEntry(
            InvalidTask,
            "There is no setting '{name}' for http targets.",
            "The settings are: {allowed}.",
            "http 目标没有名为“{name}”的设置。",
            "可用的设置:{allowed}。",
        ),
        "http_bad_setting": RefusalEntry(
            InvalidTask,
            "The setting '{name}' for http targets is not right.",
            "Wanted: {wanted}.",
            "http 目标的设置“{name}”不正确。",
            "应为:{wanted}。",
        ),
        "orchestrator_text": RefusalEntry(
            InvalidTask,
            "The payload for an orchestrator has no text.",
            'Give {{"text": "what to do"}}; "input" means the same.',
            "发给编排器的负载没有文本。",
            '请给出 {{"text": "要做的事"}};“input”含义相同。',
        ),
        "orchestrator_context": RefusalEntry(
            InvalidTask,
            "The context for an orchestrator is not an object.",
            'Give {{"context": {{"channel": "scheduled_task"}}}}, or leave it out.',
            "发给编排器的 context 不是对象。",
            '请给出 {{"context": {{"channel": "scheduled_task"}}}},或省略它。',
        ),
        "orchestrator_request": RefusalEntry(
            InvalidTask,
            "The preset 'orchestrator' makes the method and the body itself.",
            "Leave out 'method' and 'body'; put the text into the payload.",
            "预设“orchestrator”会自行生成方法和请求体。",
            "请省略“method”和“body”;把文本放进负载。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
