"""Refusals of plans."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotFound
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_such_plan": RefusalEntry(
            NotFound,
            "There is no plan '{id}'.",
            "List the plans with: horae plan list. A plan is named by its id in hexadecimal, or as msg:STATION:ID.",
            "没有计划“{id}”。",
            "可用 horae plan list 列出计划。计划用十六进制标识或 msg:STATION:ID 指定。",
        ),
        "bad_plan_id": RefusalEntry(
            InvalidTask,
            "'{value}' is not the id of a plan.",
            "Give a whole number from 1 to 9223372036854775807, or leave it out: then one is made.",
            "“{value}”不是计划标识。",
            "请给出 1 到 9223372036854775807 的整数，或省略以自动生成。",
        ),
        "bad_plan_field": RefusalEntry(
            InvalidTask,
            "The field '{name}' of the plan cannot be '{value}'.",
            "Wanted: {wanted}.",
            "计划的字段“{name}”不能是“{value}”。",
            "应为：{wanted_zh}。",
        ),
        "plan_no_command": RefusalEntry(
            InvalidTask,
            "The plan has no command for its station.",
            "Give a command (for a station that publishes: a title), for example --command hello.",
            "计划没有要站点执行的命令。",
            "请给出命令(发布站点则为标题)，例如 --command hello。",
        ),
        "plan_no_station": RefusalEntry(
            InvalidTask,
            "There is no station '{station}' of {owner} that executes plans.",
            "Allow its key first: horae station allow {station} --key KEY. List the stations with: horae station ls.",
            "{owner} 没有可执行计划的站点“{station}”。",
            "请先允许它的密钥：horae station allow {station} --key KEY。可用 horae station ls 列出站点。",
        ),
        "plan_incomplete": RefusalEntry(
            InvalidTask,
            "The plan for the station '{station}', which publishes, is not complete: it needs a title and a content.",
            "Give both, for example --command TITLE --argument TEXT, or a PUB_TITLE frame and a content frame.",
            "站点“{station}”用于发布，其计划不完整：需要标题和内容。",
            "请同时给出二者，例如 --command TITLE --argument TEXT，或一个 PUB_TITLE 帧和一个内容帧。",
        ),
        "plan_exists": RefusalEntry(
            Conflict,
            "There is another plan with the id {id}.",
            "Leave the id out, or remove the other plan first: horae plan close {id}, then horae plan remove {id}.",
            "已有另一个标识为 {id} 的计划。",
            "请省略标识，或先移除原计划：horae plan close {id}，再 horae plan remove {id}。",
        ),
        "bad_plan_layout": RefusalEntry(
            InvalidTask,
            "The plan '{name}' in Redis cannot be used: {problem}.",
            "Write its message and its score again, or remove both: ZREM plan:time:set KEY and DEL KEY.",
            "Redis 中的计划“{name}”无法使用：{problem_zh}。",
            "请重新写入其消息和分值，或将二者移除：ZREM plan:time:set KEY 和 DEL KEY。",
        ),
        "plan_closed": RefusalEntry(
            Conflict,
            "The plan {id} is closed.",
            "Add it again: horae plan add STATION --command COMMAND.",
            "计划 {id} 已关闭。",
            "请重新添加：horae plan add STATION --command COMMAND。",
        ),
        "plan_not_closed": RefusalEntry(
            Conflict,
            "The plan {id} is not closed, so it cannot be removed.",
            "Close it first: horae plan close {id}.",
            "计划 {id} 尚未关闭，不能移除。",
            "请先关闭：horae plan close {id}。",
        ),
        "plan_not_stopped": RefusalEntry(
            Conflict,
            "The plan {id} is neither paused nor in error: there is nothing to reset.",
            "Pause it with: horae plan pause {id}.",
            "计划 {id} 既未暂停也未出错，无需重置。",
            "可用 horae plan pause {id} 暂停。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
