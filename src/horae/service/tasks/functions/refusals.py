"""Refusals of function arguments: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ....errors import InvalidTask, NotFound
from ....refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "missing_argument": RefusalEntry(
            InvalidTask,
            "The function {function} needs the argument '{argument}'.",
            "Give it in the payload; it is: {wanted}.",
            "函数 {function} 需要参数“{argument}”。",
            "请在 payload 中给出,类型为:{wanted}。",
        ),
        "arguments_not_object": RefusalEntry(
            InvalidTask,
            "The payload of the function {function} is no JSON object.",
            'Give the arguments by name, for example {{"user": 7}}.',
            "函数 {function} 的 payload 不是 JSON 对象。",
            '请按名称给出参数,例如 {{"user": 7}}。',
        ),
        "no_such_function": RefusalEntry(
            NotFound,
            "No node has registered a function '{name}'.",
            "List them with GET /v1/functions.",
            "没有节点注册过函数“{name}”。",
            "可用 GET /v1/functions 列出。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
