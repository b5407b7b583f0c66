"""Refusals for chat groups: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotAllowed, NotFound
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "bad_folder": RefusalEntry(
            InvalidTask,
            "A group cannot have the folder '{value}'.",
            "Use 1 to 64 of the characters A-Z a-z 0-9 _ - and begin with a letter or a digit, for example 'family'; 'global' is taken.",
            "群组不能使用文件夹“{value}”。",
            "请使用 1 到 64 个字符:A-Z a-z 0-9 _ -,以字母或数字开头,例如“family”;“global”不可用。",
        ),
        "no_such_group": RefusalEntry(
            NotFound,
            "There is no group '{folder}'.",
            "List the groups with 'horae group ls', or register one with 'horae group add {folder} CHANNEL:ID'.",
            "没有群组“{folder}”。",
            "用“horae group ls”列出群组,或用“horae group add {folder} 渠道:编号”注册。",
        ),
        "group_agent_stopped": RefusalEntry(
            NotAllowed,
            "The agent of the group '{folder}' is stopped: messages and tasks of the group wait.",
            "Let it go on with 'horae agent restart {folder}'.",
            "群组“{folder}”的智能体已停止:该群组的消息和任务在等待。",
            "用“horae agent restart {folder}”让它继续。",
        ),
        "group_exists": RefusalEntry(
            Conflict,
            "The group '{folder}' exists already.",
            "Change it with 'horae group set {folder}', or choose another folder.",
            "群组“{folder}”已存在。",
            "用“horae group set {folder}”修改它,或使用另一个文件夹。",
        ),
        "chat_taken": RefusalEntry(
            Conflict,
            "The chat '{chat}' belongs to the group '{other}'.",
            "Remove that group first with 'horae group rm {other}', or use another chat.",
            "聊天“{chat}”属于群组“{other}”。",
            "请先用“horae group rm {other}”删除该群组,或使用另一个聊天。",
        ),
        "stale_group": RefusalEntry(
            Conflict,
            "The group '{folder}' has changed since: it is at version {version} now, not {expected}.",
            "Look at it again, and repeat the change.",
            "群组“{folder}”在此期间已被修改:当前版本为 {version},而不是 {expected}。",
            "请重新查看后再次修改。",
        ),
        "group_contested": RefusalEntry(
            Conflict,
            "The group '{folder}' is being changed by other requests at the same time.",
            "Try again.",
            "群组“{folder}”一再被其他请求更改。",
            "请再试一次。",
        ),
    }
)
refuse = CATALOGUE.refuse
