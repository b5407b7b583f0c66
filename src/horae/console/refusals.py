"""Refusals of the console: forms and sign-in; code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidTask, NotAllowed
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "not_a_form": RefusalEntry(
            InvalidTask,
            "The console expects a form, not '{type}'.",
            "Programs use the HTTP API under /v1; /docs lists its routes.",
            "控制台需要表单,而不是“{type}”。",
            "程序请使用 /v1 下的 HTTP 接口;/docs 列出全部路由。",
        ),
        "foreign_origin": RefusalEntry(
            NotAllowed,
            "The form was sent by another site ({origin}), so nothing was done.",
            "Open the console itself and send the form from there.",
            "表单由其他网站({origin})发送,因此未执行任何操作。",
            "请打开控制台本身,从那里提交表单。",
        ),
        "form_outdated": RefusalEntry(
            NotAllowed,
            "The form belongs to an earlier session, so nothing was done.",
            "Go back, reload the page and send the form again.",
            "表单属于之前的会话,因此未执行任何操作。",
            "请返回并刷新页面,然后重新提交表单。",
        ),
        "bad_json_field": RefusalEntry(
            InvalidTask,
            "The field '{name}' is not JSON: {problem}.",
            'Write JSON, for example {{"city": "Berlin"}}; texts need double quotes.',
            "字段“{name}”不是 JSON:{problem}。",
            '请写 JSON,例如 `{{"city": "Berlin"}}`;文字需要双引号。',
        ),
        "bad_schedule_fields": RefusalEntry(
            InvalidTask,
            "This field of the schedule is missing or does not fit: '{value}'.",
            "Fill it in, or write the schedule as text.",
            "时间规则的这个字段缺失或不合适:“{value}”。",
            "请填写该字段,或直接用文字写出时间规则。",
        ),
    }
)
refuse: Final = CATALOGUE.refuse
