"""Texts of the pages of chat groups, and words of the fields of their form."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "groups_about": Message(
        "A group is a chat with an agent. Its tasks and messages belong to the owner group:<folder>.",
        "群组是带有智能体的聊天。其任务和消息归所有者 group:<文件夹> 所有。",
    ),
    "groups_none": Message("There are no groups.", "没有群组。"),
    "groups_none_about": Message("Register a chat here, or with:", "在此注册聊天,或使用:"),
    "groups_folder": Message("Folder", "文件夹"),
    "groups_chat": Message("Chat", "聊天"),
    "groups_trigger": Message("Trigger", "触发词"),
    "groups_every_message": Message("every message", "每条消息"),
    "groups_main": Message("main group", "主群组"),
    "groups_ready": Message("ready", "就绪"),
    "groups_stopped": Message("stopped", "已停止"),
    "groups_agent": Message("Agent", "智能体"),
    "groups_live": Message("running", "运行中"),
    "groups_not_live": Message("not running", "未运行"),
    "groups_messages": Message("Messages", "消息"),
    "groups_message_counts": Message("{messages} stored, {waiting} waiting", "已保存 {messages} 条,{waiting} 条等待"),
    "groups_last_turn": Message("Last turn", "上一回合"),
    "groups_no_turn": Message("none yet", "还没有"),
    "groups_limits": Message("Limits", "限制"),
    "groups_limits_of": Message(
        "{timeout} without output, {idle} without a message, {max_run} for a run, {memory} MB",
        "无输出 {timeout},无消息 {idle},一次运行 {max_run},{memory} MB",
    ),
    "groups_mounts": Message("Mounts", "挂载"),
    "groups_node": Message("Node", "节点"),
    "groups_zone": Message("Zone", "时区"),
    "groups_transcript": Message("Messages of the chat", "聊天的消息"),
    "groups_stop": Message("Stop", "停止"),
    "groups_start": Message("Start", "启动"),
    "groups_add": Message("Register a chat", "注册聊天"),
    "groups_change": Message("Change the group", "修改群组"),
    "groups_remove": Message("Remove", "删除"),
    "groups_remove_about": Message(
        "Its chat is no longer answered and its tasks do not run. Files, messages and tasks stay.",
        "其聊天不再得到回复,任务不再运行。文件、消息和任务保留。",
    ),
    "groups_added": Message("{folder} is registered.", "{folder} 已注册。"),
    "groups_changed": Message("{folder} is changed.", "{folder} 已修改。"),
    "groups_removed": Message("{folder} is removed.", "{folder} 已删除。"),
    "groups_is_stopped": Message("{folder} is stopped.", "{folder} 已停止。"),
    "groups_is_started": Message("{folder} is started.", "{folder} 已启动。"),
    "groups_warnings": Message("Warnings", "警告"),
    "groups_unregistered": Message("Chats without a group", "没有群组的聊天"),
    "groups_unregistered_about": Message(
        "They have written in the last 90 days. Their messages are not kept.",
        "它们在最近 90 天内发来过消息。消息不会保存。",
    ),
    "groups_unregistered_left": Message(
        "{number} more: horae group unregistered", "另有 {number} 个：horae group unregistered"
    ),
    "groups_register": Message("Register", "注册"),
}
LABELS: Final[dict[str, Message]] = {
    "folder": Message("Folder", "文件夹"),
    "chat": Message("Chat", "聊天"),
    "name": Message("Name", "名称"),
    "trigger": Message("Trigger", "触发词"),
    "requires_trigger": Message("Only messages with the trigger", "仅带触发词的消息"),
    "main": Message("Main group", "主群组"),
    "zone": Message("Zone", "时区"),
    "node": Message("Node", "节点"),
    "timeout": Message("Longest time without output", "无输出的最长时间"),
    "idle": Message("Longest time without a message", "无消息的最长时间"),
    "max_run": Message("Longest time of a run", "一次运行的最长时间"),
    "memory_megabytes": Message("Memory in MB", "内存(MB)"),
    "processes": Message("Processes", "进程数"),
    "processors": Message("Processors", "处理器"),
    "mounts": Message("Mounts", "挂载"),
}
HELP: Final[dict[str, Message]] = {
    "folder": Message("A-Z a-z 0-9 _ -; it is also the directory of its files.", "A-Z a-z 0-9 _ -;也是其文件的目录。"),
    "chat": Message("Channel, colon, id of the chat: telegram:-100123", "渠道、冒号、聊天编号:telegram:-100123"),
    "name": Message("For people; the folder if it is blank.", "供人查看;空白时为文件夹。"),
    "trigger": Message("A message begins with this word to be answered.", "消息以此词开头才会得到回复。"),
    "requires_trigger": Message("If not, every message is answered.", "否则每条消息都会得到回复。"),
    "main": Message(
        "Its agent manages the tasks of all groups, and needs no trigger.", "其智能体管理所有群组的任务,不需要触发词。"
    ),
    "zone": Message("Zone of its schedules and times.", "其计划和时间所用的时区。"),
    "node": Message("Its agent runs on the node of this name only.", "其智能体只在此名称的节点运行。"),
    "timeout": Message("Then its agent is stopped: 30m", "超过后其智能体被停止:30m"),
    "idle": Message("Then its agent ends: 30m", "超过后其智能体结束:30m"),
    "max_run": Message("Then its agent is stopped, whatever it does: 4h", "超过后其智能体必被停止:4h"),
    "memory_megabytes": Message("Of its sandbox.", "其沙箱的内存。"),
    "processes": Message("At most so many in its sandbox.", "其沙箱中的最多进程数。"),
    "processors": Message("Share of processors; 0.5 is half of one.", "处理器份额;0.5 为半个。"),
    "mounts": Message(
        "One per line: /srv/photos:photos, or /srv/photos:photos:rw to write. The operator's list decides.",
        "每行一个:/srv/photos:photos;需要写入时为 /srv/photos:photos:rw。由运维人员的列表决定。",
    ),
}
CHOICES: Final[dict[str, Message]] = {"true": Message("yes", "是"), "false": Message("no", "否")}
