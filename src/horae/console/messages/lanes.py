"""Texts of the page of lanes and nodes."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "lanes_no_node": Message("No node claims due tasks.", "没有节点在领取到期的任务。"),
    "lanes_no_node_about": Message(
        "None is running, or all are draining or silent: what comes due waits. Start one on a machine that reaches the store:",
        "没有节点在运行,或全部处于排空、失联状态:到期的任务会一直等待。请在能访问存储的机器上启动一个节点:",
    ),
    "lanes_nodes_none": Message("No node has a lease.", "没有节点持有租约。"),
    "lanes_node_live": Message("running", "运行中"),
    "lanes_node_draining": Message("draining", "排空中"),
    "lanes_node_silent": Message("silent", "失联"),
    "lanes_host": Message("Machine", "机器"),
    "lanes_heartbeat": Message("Heartbeat", "心跳"),
    "lanes_ago": Message("{length} ago", "{length}前"),
    "lanes_load": Message("Running / capacity", "运行数 / 容量"),
    "lanes_clock": Message("Clock offset", "时钟偏差"),
    "lanes_clock_off": Message("off by {length}", "偏差 {length}"),
    "lanes_clock_step": Message("set back by {length} at", "曾回拨 {length},时间"),
    "lanes_version": Message("Version", "版本"),
    "lanes_serves": Message("Serves", "可执行"),
    "lanes_functions": Message("{number} functions", "{number} 个函数"),
    "lanes_targets_only": Message("targets without code of its own", "不需要自有代码的目标"),
    "lanes_drain": Message("Drain", "排空"),
    "lanes_undrain": Message("Undrain", "取消排空"),
    "lanes_drain_about": Message(
        "A draining node claims nothing more; it leaves when its runs have ended. A silent node has not renewed its lease: "
        "other nodes take over its runs.",
        "排空中的节点不再领取任务,其运行全部结束后退出。失联的节点没有续租:其运行由其他节点接管。",
    ),
    "lanes_drained": Message("{node} claims nothing more.", "{node} 不再领取任务。"),
    "lanes_undrained": Message("{node} claims due tasks again.", "{node} 重新开始领取到期的任务。"),
    "lanes_title": Message("Lanes", "通道"),
    "lanes_about": Message(
        "A lane limits how many runs go on at once, how many start within a period, or both, across all nodes. A task that is due while its lane is full waits.",
        "通道限制所有节点上同时进行的运行数、一段时间内启动的运行数,或同时限制两者。到期时通道已满的任务会等待。",
    ),
    "lanes_none": Message("No lane has a limit or a run.", "没有设置了上限或正在使用的通道。"),
    "lanes_in_use": Message("In use", "使用中"),
    "lanes_waiting": Message("Waiting", "等待"),
    "lanes_limit": Message("Limit", "上限"),
    "lanes_limit_of": Message("Limit of {lane}", "{lane} 的上限"),
    "lanes_more": Message("Used by", "使用方"),
    "lanes_of_owner": Message("quota of {owner}", "{owner} 的配额"),
    "lanes_of_agent": Message("quota of the agent {agent} of {owner}", "{owner} 的智能体 {agent} 的配额"),
    "lanes_closed": Message("closed", "已关闭"),
    "lanes_full": Message("full", "已满"),
    "lanes_no_limit": Message("no limit", "无上限"),
    "lanes_set_quota": Message("Change the quota", "修改配额"),
    "lanes_wait_count": Message("{number} wait", "{number} 个等待"),
    "lanes_oldest": Message("oldest due", "最早到期于"),
    "lanes_none_wait": Message("nothing waits", "无等待"),
    "lanes_who_runs": Message("Runs in the lane", "通道中的运行:"),
    "lanes_none_run": Message("no run is in it", "没有运行"),
    "lanes_others": Message("{number} more are not listed.", "另有 {number} 个未列出。"),
    "lanes_idle": Message("Idle since", "空闲自"),
    "lanes_idle_count": Message("{number} idle", "{number} 个空闲"),
    "lanes_place": Message("Place", "次序"),
    "lanes_order_about": Message(
        "In the order in which they get slots: owners take turns, then priority, then due. New entries may come in between.",
        "按获得空位的次序排列:所有者轮流,其次优先级,再次到期时间。新到期的任务可能插入其间。",
    ),
    "lanes_who_waits": Message("Waiting in the lane", "等待通道:"),
    "lanes_waits_for": Message("Waits for", "已等待"),
    "lanes_priority": Message("Priority", "优先级"),
    "lanes_first_only": Message("The first {number} are shown.", "仅显示前 {number} 个。"),
    "lanes_new": Message("Limit another lane", "为其他通道设置上限"),
    "lanes_rate": Message("Rate of starts, such as 100/1s", "启动速率，例如 100/1s"),
    "lanes_rate_of": Message("Rate of {lane}, such as 100/1s", "{lane} 的速率，例如 100/1s"),
    "lanes_rate_alone": Message(
        "Runs of {lane} start at {rate} at most; how many go on at once has no limit.",
        "{lane} 的启动速率最多为 {rate};同时进行的运行数无上限。",
    ),
    "lanes_limited_rate": Message(
        "At most {limit} runs of {lane} go on at once, and {rate} start.",
        "{lane} 同时最多进行 {limit} 次运行，启动速率 {rate}。",
    ),
    "lanes_limited": Message("At most {limit} runs of {lane} go on at once.", "{lane} 同时最多进行 {limit} 次运行。"),
}
