"""Refusals of stations: settings, keys, specs of the target; code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidTask
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "station_spec": RefusalEntry(
            InvalidTask,
            "A call of a station cannot have '{value}' as {name}.",
            "Wanted: {wanted}.",
            "调用站点时，{name} 不能是“{value}”。",
            "应为：{wanted}。",
        ),
        "station_unknown_key": RefusalEntry(
            InvalidTask,
            "A call of a station has no '{name}'.",
            "It has: {allowed}.",
            "调用站点没有“{name}”这一项。",
            "可用的项：{allowed}。",
        ),
        "station_setting": RefusalEntry(
            InvalidTask,
            "The setting targets.station.{name} cannot be used as it is.",
            "Wanted: {wanted}.",
            "设置 targets.station.{name} 无法使用。",
            "应为：{wanted}。",
        ),
        "stations_disabled": RefusalEntry(
            InvalidTask,
            "This node does not serve stations.",
            "Start a node that does: horae up --stations",
            "该节点不为站点提供服务。",
            "请启动提供服务的节点：horae up --stations",
        ),
        "stations_library_missing": RefusalEntry(
            InvalidTask,
            "Stations need a library that is not installed.",
            "Install it with: pip install 'horae[stations]'",
            "站点需要的库没有安装。",
            "请安装：pip install 'horae[stations]'",
        ),
        "station_plain": RefusalEntry(
            InvalidTask,
            "Stations without encryption are allowed on this machine alone, and '{value}' is not.",
            "Leave out plain, or listen on tcp://127.0.0.1:4674.",
            "只有本机可以不加密地连接站点，而“{value}”不是本机。",
            "请去掉 plain，或监听 tcp://127.0.0.1:4674。",
        ),
        "station_address_in_use": RefusalEntry(
            InvalidTask,
            "Stations cannot connect at {value}: {problem}.",
            "Choose another address: HORAE_STATION_LISTEN=tcp://127.0.0.1:4684 horae up --stations",
            "站点无法在 {value} 连接：{problem}。",
            "请选择其他地址：HORAE_STATION_LISTEN=tcp://127.0.0.1:4684 horae up --stations",
        ),
        "station_key_file": RefusalEntry(
            InvalidTask,
            "The key file {path} cannot be used: {problem}.",
            "Remove it, so that a new one is made, or give it the mode 600: chmod 600 {path}",
            "密钥文件 {path} 无法使用：{problem}。",
            "请删除它以便重新创建，或将权限设为 600：chmod 600 {path}",
        ),
        "station_directory_missing": RefusalEntry(
            InvalidTask,
            "The directory for the keys of stations is not set.",
            "Name one that only the node's user can read: HORAE_STATION_DIRECTORY=/var/lib/horae/stations horae up --stations, or in "
            'horae.toml: [targets.station] directory = "/var/lib/horae/stations"',
            "没有设置存放站点密钥的目录。",
            "请指定一个只有节点用户可读的目录：HORAE_STATION_DIRECTORY=/var/lib/horae/stations horae up --stations，或在 "
            'horae.toml 中设置：[targets.station] directory = "/var/lib/horae/stations"',
        ),
        "station_function": RefusalEntry(
            InvalidTask,
            "'{name}' is declared twice in the station '{station}'.",
            "Give each function a name of its own.",
            "站点“{station}”中重复声明了“{name}”。",
            "请为每个函数使用不同的名称。",
        ),
        "no_station_in_module": RefusalEntry(
            InvalidTask,
            "No station is declared in {path}.",
            "Declare one: from horae.stations import Station; station = Station('orders')",
            "{path} 没有声明站点。",
            "请声明一个：from horae.stations import Station; station = Station('orders')",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
