"""Refusals for chat groups: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotFound
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
            "Use the folder of a registered group.",
            "没有群组“{folder}”。",
            "请使用已注册群组的文件夹。",
        ),
        "group_exists": RefusalEntry(
            Conflict,
            "The group '{folder}' exists already.",
            "Change that group, or choose another folder.",
            "群组“{folder}”已存在。",
            "请修改该群组,或使用另一个文件夹。",
        ),
        "chat_taken": RefusalEntry(
            Conflict,
            "The chat '{chat}' belongs to the group '{other}'.",
            "Remove that group first, or use another chat.",
            "聊天“{chat}”属于群组“{other}”。",
            "请先删除该群组,或使用另一个聊天。",
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
