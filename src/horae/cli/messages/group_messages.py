"""Messages of the commands about chat groups, in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...message import Message

GROUP_TITLES: Final = Message("FOLDER|NAME|CHAT|TRIGGER|ZONE|STATE", "文件夹|名称|聊天|触发词|时区|状态")
GROUP_ADDED: Final = Message(
    "The group {folder} is registered; its chat is {chat}.", "群组 {folder} 已注册;其聊天为 {chat}。"
)
GROUP_CHANGED: Final = Message("The group {folder} is changed.", "群组 {folder} 已修改。")
GROUP_REMOVED: Final = Message(
    "The group {folder} is removed. Its files, messages and tasks stay; its tasks do not run.",
    "群组 {folder} 已删除。其文件、消息和任务保留;任务不再运行。",
)
REMOVE_GROUP: Final = Message(
    "Remove the group {folder}? Its chat is no longer answered and its tasks do not run.",
    "删除群组 {folder}?其聊天不再得到回复,任务也不再运行。",
)
GROUP_STOPPED: Final = Message("{folder} is stopped: no turn of it starts.", "{folder} 已停止:不再开始新的回合。")
GROUP_STARTED: Final = Message("{folder} is started.", "{folder} 已启动。")
STOP_GROUPS: Final = Message("Stop all groups?", "停止所有群组?")
NO_GROUPS: Final = Message(
    "No groups yet: horae group add FOLDER CHANNEL:ID", "还没有群组:horae group add 文件夹 渠道:编号"
)
SEE_UNREGISTERED: Final = Message(
    "Chats that have written: horae group unregistered", "发来过消息的聊天:horae group unregistered"
)
UNREGISTERED_TITLES: Final = Message("CHAT|NAME|LAST ACTIVITY", "聊天|名称|最近活动")
REGISTER_CHAT: Final = Message("Register one: {command}", "注册其中一个:{command}")
NO_UNREGISTERED: Final = Message(
    "No chat without a group has written in the last 90 days.", "最近 90 天内没有未注册的聊天发来消息。"
)
STATES: Final = {
    "ready": Message("ready", "就绪"),
    "stopped": Message("stopped", "已停止"),
}
MAIN: Final = Message("main", "主群组")
EVERY_MESSAGE: Final = Message("every message", "每条消息")
CHAT: Final = Message("Chat", "聊天")
NAME: Final = Message("Name", "名称")
OWNER: Final = Message("Owner", "所有者")
TRIGGER: Final = Message("Trigger", "触发词")
ZONE: Final = Message("Zone", "时区")
NODE: Final = Message("Node", "节点")
LIMITS: Final = Message("Limits", "限制")
LIMITS_OF: Final = Message(
    "{timeout} without output, {idle} without a message, {max_run} for a run, {memory} MB, {processes} processes, "
    "{processors} processors",
    "无输出 {timeout},无消息 {idle},一次运行 {max_run},{memory} MB,{processes} 个进程,{processors} 个处理器",
)
MOUNTS: Final = Message("Mounts", "挂载")
MESSAGES: Final = Message("Messages", "消息")
MESSAGE_COUNTS: Final = Message("{messages} stored, {waiting} waiting", "已保存 {messages} 条,{waiting} 条等待")
AGENT: Final = Message("Agent", "智能体")
LIVE_SINCE: Final = Message("live in {run} since {at}", "自 {at} 起在 {run} 中运行")
NOT_LIVE: Final = Message("not running", "未运行")
LAST_TURN: Final = Message("Last turn", "上一回合")
TURN_AT: Final = Message("{state}, {at}", "{state},{at}")
STATE: Final = Message("State", "状态")
TASKS: Final = Message("Tasks", "任务")

# --- budget ------------------------------------------------------------------------------------------------------------

BUDGET: Final = Message("Budget", "预算")
BUDGET_USE: Final = Message(
    "{name}: {used} used, {reserved} reserved, {limit} a day", "{name}：已用 {used}，预留 {reserved}，每天 {limit}"
)
BUDGET_UNTIL: Final = Message("the next day begins {until}", "新的一天从 {until} 开始")
NO_BUDGET: Final = Message(
    "It has no budget. Set one: horae group set {folder} --budget tokens=200000/day",
    "没有预算。设置：horae group set {folder} --budget tokens=200000/day",
)
BUDGET_NAMES: Final = {
    "tokens": Message("tokens", "token 数"),
    "cost": Message("cost", "费用"),
    "runs": Message("runs", "运行次数"),
}
