"""Check of the arguments in a payload against the signature of a function, with its refusals in two languages."""

from __future__ import annotations

import json
from typing import Any, Final

from ....errors import InvalidTask, NotFound
from ....model.refusals import refuse as refuse_task
from ....refusal_catalogue import RefusalCatalogue, RefusalEntry
from .records import Signature

_MAX_EXCERPT: Final = 80

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


def check_arguments(function: str, signature: Signature, payload: str) -> None:
    """Refuse a payload that no call of this signature can take."""
    try:
        given = json.loads(payload) if payload else {}
    except ValueError:
        given = payload
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise refuse("arguments_not_object", function=function)
    names = {each.name for each in signature.arguments}
    if not signature.takes_more:
        for name in given:
            if name not in names:
                known = ", ".join(each.name for each in signature.arguments) or "-"
                raise refuse_task("unknown_argument", function=function, argument=name, known=known)
    for each in signature.arguments:
        if each.name not in given:
            if each.required:
                raise refuse("missing_argument", function=function, argument=each.name, wanted=each.wanted)
        elif each.accepts is not None and (kind := _json_type(given[each.name])) not in each.accepts:
            came = f"{_excerpt(given[each.name])} ({kind})"
            raise refuse_task("bad_arguments", function=function, argument=each.name, came=came, wanted=each.wanted)


def _json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_EXCERPT else text[: _MAX_EXCERPT - 1] + "…"
