"""Texts of `horae station` and `horae plan`, in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...message import Message

STATION_TITLES: Final = Message("NAME|KIND|KEYS|WORKERS|CALLS|LAST ANSWER", "名称|类型|公钥|工作进程|调用|最近应答")
OWNER: Final = Message("OWNER", "所有者")
NO_STATIONS: Final = Message(
    "No stations yet: horae station allow NAME --key KEY", "还没有站点：horae station allow 名称 --key 公钥"
)
ALLOWED: Final = Message("{key} may join as the station {name}.", "{key} 可以作为站点 {name} 加入。")
STATION_REMOVED: Final = Message("The station {name} and its keys are removed.", "站点 {name} 及其公钥已删除。")
KEY_REMOVED: Final = Message("{key} may no longer join as the station {name}.", "{key} 不能再作为站点 {name} 加入。")
STATION_KEY: Final = Message("Key of the station {name}: {key}", "站点 {name} 的公钥：{key}")
SERVER_KEY: Final = Message("Key of this node: {key}", "本节点的公钥：{key}")
ALLOW_HINT: Final = Message(
    "Allow it where the store is: horae station allow {name} --key '{key}'",
    "请在存储所在处允许它：horae station allow {name} --key '{key}'",
)
JOINED: Final = Message("{name} has joined as {worker}.", "{name} 已作为 {worker} 加入。")
LEFT: Final = Message("Left.", "已离开。")


PLAN_TITLES: Final = Message("PLAN|STATION|STATE|COUNTER|NEXT|DONE|DESCRIPTION", "计划|站点|状态|计数|下次|已执行|说明")
STATES: Final = {
    "none": Message("none", "无"),
    "queued": Message("queued", "排队"),
    "executing": Message("executing", "执行中"),
    "retrying": Message("retrying", "重试中"),
    "skipping": Message("skipping", "跳过中"),
    "paused": Message("paused", "已暂停"),
    "error": Message("error", "出错"),
    "closed": Message("closed", "已关闭"),
    "removed": Message("removed", "已移除"),
}
NO_PLANS: Final = Message("No plans.", "没有计划。")
NAME: Final = Message("name", "名称")
STATION: Final = Message("station", "站点")
WHEN: Final = Message("when", "时间")
STATE: Final = Message("state", "状态")
COUNTER: Final = Message("counter", "计数")
NEXT: Final = Message("time", "计划时间")
DONE: Final = Message("done", "已执行")
LAST: Final = Message("last status", "最后状态")
EXECUTED: Final = Message("executed", "执行时间")
TASK: Final = Message("task", "任务")
FRAMES: Final = Message("message", "消息")
ADDED: Final = Message("{name} is added: {sentence}", "已添加 {name}:{sentence}")
CHANGED: Final = Message("{name} is {state}.", "{name}:{state}。")
REMOVE: Final = Message("Remove the plan {name} with its history", "移除计划 {name} 及其历史")
PLAN_REMOVED: Final = Message("{name} is removed.", "已移除 {name}。")
IMPORTED: Final = Message("{count} plans are imported.", "已导入 {count} 个计划。")
LEFT_OUT: Final = Message("{name}: closed, left out.", "{name}:已关闭，未导入。")
NOT_IMPORTED: Final = Message("{name}: {problem}", "{name}:{problem}")
