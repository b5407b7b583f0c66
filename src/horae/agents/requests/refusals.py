"""Refusals of requests of agents: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotAllowed, NotFound, TooMuch
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "request_unreadable": RefusalEntry(
            InvalidTask,
            "The request file cannot be read: {problem}.",
            'Write one JSON object such as {{"type": "pause_task", "taskId": "tsk_…"}} to a file NAME.json.tmp, then rename it to NAME.json.',
            "无法读取请求文件:{problem}。",
            '请把一个 JSON 对象(例如 {{"type": "pause_task", "taskId": "tsk_…"}})写入文件 NAME.json.tmp,再改名为 NAME.json。',
        ),
        "request_unknown_type": RefusalEntry(
            InvalidTask,
            "'{value}' is not a type of request.",
            "Choose one of: {allowed}.",
            "没有“{value}”这种请求类型。",
            "请选择其中之一:{allowed}。",
        ),
        "request_of_main_only": RefusalEntry(
            NotAllowed,
            "Only the agent of a main group may use {type}.",
            "Ask a person, or the agent of the main group, to do it.",
            "只有主群组的代理可以使用 {type}。",
            "请让用户或主群组的代理来操作。",
        ),
        "request_foreign_chat": RefusalEntry(
            NotAllowed,
            "This agent may not use the chat '{chat}'.",
            "Leave out the chat: then it is that of your own group.",
            "该代理不能使用聊天“{chat}”。",
            "请省略聊天字段:默认为自己群组的聊天。",
        ),
        "request_unknown_chat": RefusalEntry(
            NotFound,
            "The chat '{chat}' belongs to no group.",
            "Use a jid of available_groups.json with isRegistered true, or register the group first with register_group.",
            "聊天“{chat}”不属于任何群组。",
            "请使用 available_groups.json 中 isRegistered 为 true 的 jid,或先用 register_group 注册群组。",
        ),
        "request_main_flag": RefusalEntry(
            NotAllowed,
            "No request can make a group a main group.",
            "Leave out isMain. An operator does it: horae group set FOLDER --main",
            "任何请求都不能把群组设为主群组。",
            "请去掉 isMain。由运维人员设置:horae group set FOLDER --main",
        ),
        "request_once_zone": RefusalEntry(
            InvalidTask,
            "Timestamp must be local time without timezone suffix: '{value}'.",
            "Write the local time of the group, such as 2026-02-01T15:30:00; its zone is {zone}.",
            "时间必须是不带时区后缀的本地时间:“{value}”。",
            "请写群组的本地时间,例如 2026-02-01T15:30:00;群组时区是 {zone}。",
        ),
        "request_two_schedules": RefusalEntry(
            InvalidTask,
            "The request has two schedules: 'when' and 'schedule_type'.",
            "Keep one of them.",
            "请求中有两个计划:“when”和“schedule_type”。",
            "请只保留一个。",
        ),
        "request_task_id": RefusalEntry(
            InvalidTask,
            "A new task cannot have the id '{value}'.",
            "Use 1 to 100 of the characters A-Z a-z 0-9 . _ : - and begin with a letter or a digit, or leave out taskId.",
            "新任务不能使用 id“{value}”。",
            "请使用 1 到 100 个字符:A-Z a-z 0-9 . _ : -,以字母或数字开头,或省略 taskId。",
        ),
        "request_not_own_prompt": RefusalEntry(
            NotAllowed,
            "The task '{name}' ({id}) does not prompt this group: its agent may pause, resume or cancel it, and not change it.",
            "Ask a person to change it, or schedule a task of your own.",
            "任务“{name}”({id})不是给本群组的提示:代理可以暂停、恢复或取消它,但不能修改。",
            "请让用户修改,或另建自己的任务。",
        ),
        "request_script": RefusalEntry(
            NotAllowed,
            "A person made the task '{name}' ({id}): no agent may change its script.",
            "Leave out script, or schedule a task of your own with it.",
            "任务“{name}”({id})由用户创建:代理不能修改它的脚本。",
            "请去掉 script,或用该脚本另建自己的任务。",
        ),
        "request_group_stopped": RefusalEntry(
            Conflict,
            "The agent of the group '{folder}' is stopped.",
            "A person starts it again; nothing was done.",
            "群组“{folder}”的代理已停止。",
            "需由用户重新启动;本请求未执行。",
        ),
        "request_flood": RefusalEntry(
            TooMuch,
            "The group '{folder}' has written more than {most} requests within a minute; this one was not carried out.",
            "Write it again, with a new name, after a minute. An admin may raise the limit: 'horae owner set group:{folder} --quota requests_per_minute=1200'.",
            "群组“{folder}”在一分钟内写入了超过 {most} 个请求;本请求未执行。",
            "请在一分钟后用新的文件名重新写入。管理员可提高限额:“horae owner set group:{folder} --quota requests_per_minute=1200”。",
        ),
        "request_failed": RefusalEntry(
            Conflict,
            "The host could not carry out the request because of an error of its own.",
            "Look with list_tasks whether it took effect before you write it again. The log of the host names the error.",
            "由于主机自身的错误,请求未能执行。",
            "再次写入之前请先用 list_tasks 查看是否已生效。错误记录在主机的日志中。",
        ),
    }
)
refuse = CATALOGUE.refuse
