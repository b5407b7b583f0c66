"""Refusals of event targets and of the operator's settings for them: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidTask
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "event_spec": RefusalEntry(
            InvalidTask,
            "An event cannot be described by '{value}'.",
            'Give an object such as {{"topic": "task.triggered", "say": "time to stand up"}}; both may be left out.',
            "“{value}”不能描述一个事件。",
            '请给出对象,例如 {{"topic": "task.triggered", "say": "该起来活动了"}};两项都可以省略。',
        ),
        "event_unknown_key": RefusalEntry(
            InvalidTask,
            "An event has no '{name}'.",
            "It has: {allowed}.",
            "事件没有“{name}”这一项。",
            "可用的项:{allowed}。",
        ),
        "event_topic": RefusalEntry(
            InvalidTask,
            "'{value}' cannot be the topic of an event.",
            "Give 1 to 100 letters, digits, dots, colons, hyphens and underscores, for example 'task.triggered'.",
            "“{value}”不能作为事件的主题。",
            "请给出 1 到 100 个字母、数字、点、冒号、连字符或下划线,例如“task.triggered”。",
        ),
        "event_topic_reserved": RefusalEntry(
            InvalidTask,
            "'{value}' is reserved for Horae's own events and cannot be the topic of an event.",
            "Use 'task.triggered', or a name of your own that begins neither with 'task.' nor with 'run.'.",
            "“{value}”是 Horae 自身用于任务和运行的名称,不能作为事件的主题。",
            "请使用“task.triggered”,或不以“task.”和“run.”开头的名称。",
        ),
        "event_say": RefusalEntry(
            InvalidTask,
            "'{value}' cannot be the text of an event.",
            "Give a text of at most {most} characters.",
            "“{value}”不能作为事件的文本。",
            "请给出最多 {most} 个字符的文本。",
        ),
        "event_setting": RefusalEntry(
            InvalidTask,
            "The setting targets.event.{name} cannot be used as it is.",
            "Wanted: {wanted}.",
            "设置 targets.event.{name} 无法使用。",
            "应为:{wanted}。",
        ),
        "event_redis_missing": RefusalEntry(
            InvalidTask,
            "Events are to go to Redis, and the library for that is not installed.",
            "Install it with: pip install 'horae[redis]'",
            "事件要发送到 Redis,但没有安装所需的库。",
            "请安装:pip install 'horae[redis]'",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
