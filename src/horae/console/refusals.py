"""Refusals of the console: forms and sign-in; code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotAllowed
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
        "bad_form_field": RefusalEntry(
            InvalidTask,
            "The field '{name}' of the form has the value '{value}', which cannot be used.",
            "Go back, reload the page and send the form again.",
            "表单字段“{name}”的值“{value}”无法使用。",
            "请返回并刷新页面,然后重新提交表单。",
        ),
        "foreign_form": RefusalEntry(
            NotAllowed,
            "The form was sent by another site ({origin}), so nothing was done.",
            "Open the console itself and send the form from there.",
            "表单由其他网站({origin})发送,因此未执行任何操作。",
            "请打开控制台本身,从那里提交表单。",
        ),
        "not_confirmed": RefusalEntry(
            InvalidTask,
            "You typed '{value}' instead of '{wanted}', so nothing was done.",
            "Type '{wanted}' exactly as it is shown, to confirm.",
            "您输入的是“{value}”,而不是“{wanted}”,因此未执行任何操作。",
            "请按显示的内容输入“{wanted}”以确认。",
        ),
        "nothing_selected": RefusalEntry(
            InvalidTask,
            "No task is selected, or the selected ones are gone.",
            "Go back and tick the tasks, or choose all that match the filter.",
            "没有选中任务,或选中的任务已不存在。",
            "请返回并勾选任务,或选择符合筛选条件的全部任务。",
        ),
        "form_outdated": RefusalEntry(
            NotAllowed,
            "The form belongs to an earlier session, so nothing was done.",
            "Go back, reload the page and send the form again.",
            "表单属于之前的会话,因此未执行任何操作。",
            "请返回并刷新页面,然后重新提交表单。",
        ),
        "account_exists": RefusalEntry(
            Conflict,
            "There is an owner '{name}' already, so nothing was changed.",
            "Choose another name, or edit that owner.",
            "所有者“{name}”已存在,因此未作更改。",
            "请换一个名称,或编辑该所有者。",
        ),
        "simple_no_time": RefusalEntry(
            InvalidTask,
            "The task has no date and time.",
            "Choose both, for example 2027-01-02 and 09:00.",
            "请选择日期和时间。",
            "日期和时间都要填写,例如 2027-01-02 09:00。",
        ),
        "simple_bad_interval": RefusalEntry(
            InvalidTask,
            "The interval is not a whole number: '{value}'.",
            "Enter a number from 1 on, and choose its unit.",
            "间隔时长须为整数:“{value}”。",
            "请填写不小于 1 的整数,并选择单位。",
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
