"""Refusals for stations: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotFound, TooMuch
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "bad_station_name": RefusalEntry(
            InvalidTask,
            "'{value}' cannot be the name of a {what}.",
            "Use 1 to {most} letters, digits, dots, hyphens and underscores, such as 'orders'.",
            "“{value}”不能作为名称。",
            "请使用 1 到 {most} 个字母、数字、点、连字符或下划线，例如“orders”。",
        ),
        "bad_station_key": RefusalEntry(
            InvalidTask,
            "That is no public key of a station.",
            "A key has 40 characters; the station prints its own: horae station key --station NAME",
            "这不是站点的公钥。",
            "公钥有 40 个字符；站点可以输出自己的公钥：horae station key --station 名称",
        ),
        "station_key_taken": RefusalEntry(
            Conflict,
            "This key already belongs to a station.",
            "Make a key for each station: horae station key --station NAME",
            "该公钥已属于某个站点。",
            "请为每个站点创建公钥：horae station key --station 名称",
        ),
        "station_kind_differs": RefusalEntry(
            Conflict,
            "The station '{name}' is of the kind {kind}.",
            "Leave out --kind, or remove the station first: horae station rm {name}",
            "站点“{name}”的类型是 {kind}。",
            "请去掉 --kind，或先删除该站点：horae station rm {name}",
        ),
        "voter_without_name": RefusalEntry(
            InvalidTask,
            "A key of a vote belongs to one voter, and its name is missing.",
            "Name the voter: horae station allow {name} --key KEY --worker VOTER",
            "表决站点的每个公钥属于一个投票者，缺少其名称。",
            "请给出投票者的名称：horae station allow {name} --key 公钥 --worker 投票者",
        ),
        "voter_has_key": RefusalEntry(
            Conflict,
            "The voter '{worker}' of '{name}' has a key already.",
            "Remove that key first: horae station rm {name} --key KEY",
            "“{name}”的投票者“{worker}”已有公钥。",
            "请先删除该公钥：horae station rm {name} --key 公钥",
        ),
        "no_such_station": RefusalEntry(
            NotFound,
            "There is no station '{name}'.",
            "List the stations: horae station ls",
            "没有站点“{name}”。",
            "列出站点：horae station ls",
        ),
        "no_such_station_key": RefusalEntry(
            NotFound,
            "The station '{name}' has no such key.",
            "List its keys: horae station ls --json",
            "站点“{name}”没有该公钥。",
            "列出其公钥：horae station ls --json",
        ),
        "too_many_stations": RefusalEntry(
            TooMuch,
            "{owner} has {most} stations, as many as allowed.",
            "Remove one: horae station rm NAME",
            "{owner} 已有 {most} 个站点，达到上限。",
            "请删除一个：horae station rm 名称",
        ),
        "too_many_station_keys": RefusalEntry(
            TooMuch,
            "The station '{name}' has {most} keys, as many as allowed.",
            "Remove one: horae station rm {name} --key KEY",
            "站点“{name}”已有 {most} 个公钥，达到上限。",
            "请删除一个：horae station rm {name} --key 公钥",
        ),
        "station_contested": RefusalEntry(
            Conflict,
            "The station '{name}' is being changed at the same time.",
            "Try again.",
            "站点“{name}”正在同时被更改。",
            "请再试一次。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
