"""Sentences of `horae station`."""

from __future__ import annotations

from typing import Final

from ...message import Message

STATION_TITLES: Final = Message("NAME|KIND|KEYS|WORKERS|CALLS|LAST ANSWER", "名称|类型|公钥|工作进程|调用|最近应答")
OWNER: Final = Message("OWNER", "所有者")
NO_STATIONS: Final = Message(
    "No stations yet: horae station allow NAME --key KEY", "还没有站点：horae station allow 名称 --key 公钥"
)
ALLOWED: Final = Message("{key} may join as the station {name}.", "{key} 可以作为站点 {name} 加入。")
REMOVED: Final = Message("The station {name} and its keys are removed.", "站点 {name} 及其公钥已删除。")
KEY_REMOVED: Final = Message("{key} may no longer join as the station {name}.", "{key} 不能再作为站点 {name} 加入。")
STATION_KEY: Final = Message("Key of the station {name}: {key}", "站点 {name} 的公钥：{key}")
SERVER_KEY: Final = Message("Key of this node: {key}", "本节点的公钥：{key}")
ALLOW_HINT: Final = Message(
    "Allow it where the store is: horae station allow {name} --key '{key}'",
    "请在存储所在处允许它：horae station allow {name} --key '{key}'",
)
JOINED: Final = Message("{name} has joined as {worker}.", "{name} 已作为 {worker} 加入。")
LEFT: Final = Message("Left.", "已离开。")
