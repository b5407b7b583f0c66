"""Messages of `horae service` in English and Chinese."""

from __future__ import annotations

from typing import Final

from .messages import Message

WROTE: Final = Message("wrote {path}", "已写入 {path}")
SAME: Final = Message("{path} is as it should be", "{path} 已是最新")
KEPT_VARIABLES: Final = Message("{path} was there and stays as it is", "{path} 已存在,保持不变")
NEXT: Final = Message("Next", "接下来")
THEN_WORKER: Final = Message(
    "one instance for each worker: horae-worker@1, horae-worker@2, …",
    "每个工作进程一个实例:horae-worker@1、horae-worker@2 …",
)
LINGER: Final = Message("so that it runs while you are not logged in", "使其在未登录时也运行")
REMOVED: Final = Message("removed {path}", "已删除 {path}")
DATA_STAYS: Final = Message("tasks, tokens and {variables} stay", "任务、令牌和 {variables} 均保留")
INSTALLED: Final = Message("installed as {path}", "已安装:{path}")
STANDS: Final = Message("systemd says: {active} ({sub}), since {since}", "systemd 状态:{active}({sub}),始于 {since}")
SAYS: Final = Message("it says: {text}", "其报告:{text}")
NO_MANAGER: Final = Message("systemd does not run here", "此处没有运行 systemd")
