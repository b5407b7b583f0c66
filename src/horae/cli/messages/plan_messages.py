"""Texts of `horae plan`."""

from __future__ import annotations

from typing import Final

from ...message import Message

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
REMOVED: Final = Message("{name} is removed.", "已移除 {name}。")
IMPORTED: Final = Message("{count} plans are imported.", "已导入 {count} 个计划。")
LEFT_OUT: Final = Message("{name}: closed, left out.", "{name}:已关闭，未导入。")
NOT_IMPORTED: Final = Message("{name}: {problem}", "{name}:{problem}")
