"""Reason codes of runs that were skipped or ended: a closed enum, each with a sentence in English and Chinese."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ..choices import Language
from ..typography import full_width


class Reason(StrEnum):
    OVERLAP = "overlap"
    SUPERSEDED = "superseded"
    REPLACED = "replaced"
    STALE = "stale"
    MISSED_SKIPPED = "missed_skipped"
    MERGED = "merged"
    PAUSED = "paused"
    SKIP_REQUESTED = "skip_requested"
    EXCLUDED = "excluded"
    QUOTA = "quota"
    AGENT_QUOTA = "agent_quota"
    OWNER_REVOKED = "owner_revoked"
    TARGET_UNKNOWN = "target_unknown"
    TARGET_NOT_ALLOWED = "target_not_allowed"
    NOT_CALLED = "not_called"
    TARGET_FAILED = "target_failed"
    NO_ANSWER = "no_answer"
    DEADLINE = "deadline"
    START_DEADLINE = "start_deadline"
    LEASE_LOST = "lease_lost"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"
    RELEASED = "released"
    GATE_CLOSED = "gate_closed"
    GATE_FAILED = "gate_failed"
    GATE_CHECKED = "gate_checked"
    SKIPPED_BY_TARGET = "skipped_by_target"
    AWAITING_APPROVAL = "awaiting_approval"
    OVER_BUDGET = "over_budget"
    AGENT_STOPPED = "agent_stopped"
    PREDECESSOR_SKIPPED = "predecessor_skipped"
    NO_WORKER = "no_worker"
    WORKER_LOST = "worker_lost"


UNPLANNED_SKIPS: Final = frozenset(
    {
        Reason.STALE,
        Reason.MISSED_SKIPPED,
        Reason.START_DEADLINE,
        Reason.QUOTA,
        Reason.AGENT_QUOTA,
        Reason.TARGET_UNKNOWN,
        Reason.TARGET_NOT_ALLOWED,
        Reason.OVER_BUDGET,
    }
)
"""Reasons of skips that no person and no rule about this occurrence has decided: the owner expected it to run."""

SENTENCES: Final[dict[Reason, tuple[str, str]]] = {
    Reason.OVERLAP: (
        "An earlier run of this task was still going, and its overlap policy does not start a second one.",
        "该任务的上一次运行仍在进行,其重叠策略不允许同时再启动一次。",
    ),
    Reason.SUPERSEDED: (
        "A newer occurrence came due before this one could be tried again, and took its place.",
        "在再次尝试之前,更新的一次已经到期,并取代了它。",
    ),
    Reason.REPLACED: (
        "A newer occurrence came due, and the overlap policy replaces the run that was going.",
        "更新的一次已经到期,重叠策略用它替换了正在进行的运行。",
    ),
    Reason.STALE: (
        "It was found later than its missed policy allows, so it was not run.",
        "发现它时已超出补跑策略允许的时限,因此没有运行。",
    ),
    Reason.MISSED_SKIPPED: (
        "It came due while nothing could run it, and the missed policy does not make up for that.",
        "到期时没有可用的执行者,而补跑策略不会补跑。",
    ),
    Reason.MERGED: (
        "It came due while nothing could run it, and one later run makes up for all of them.",
        "到期时没有可用的执行者,由之后的一次运行一并补上。",
    ),
    Reason.PAUSED: ("The task was paused at that time.", "当时任务处于暂停状态。"),
    Reason.SKIP_REQUESTED: ("It was skipped on request.", "按要求跳过了这一次。"),
    Reason.EXCLUDED: ("A holiday calendar excludes that date.", "节假日日历排除了这一天。"),
    Reason.QUOTA: ("It was beyond a quota of its owner or agent.", "超出了其所有者或智能体的配额。"),
    Reason.AGENT_QUOTA: (
        "The agent that made it had used up its runs of that day.",
        "创建它的智能体已用完当天的运行次数。",
    ),
    Reason.OWNER_REVOKED: (
        "Its owner was revoked or is a viewer, or the agent that made it has lost its last token.",
        "其所有者已被停用或只是查看者(viewer),或创建它的智能体已失去最后一个令牌。",
    ),
    Reason.TARGET_UNKNOWN: ("Its target is not known to this deployment.", "此部署中没有它的目标。"),
    Reason.TARGET_NOT_ALLOWED: (
        "Its target is not allowed by the node that was to run it.",
        "执行它的节点不允许该目标。",
    ),
    Reason.NOT_CALLED: (
        "The target was not called; the error says what to change.",
        "没有调用目标;错误信息说明了需要更改什么。",
    ),
    Reason.TARGET_FAILED: ("The target ran and failed.", "目标已运行,但失败了。"),
    Reason.NO_ANSWER: ("The target gave no usable answer.", "目标没有给出可用的答复。"),
    Reason.DEADLINE: ("It said nothing until its deadline had passed.", "直到截止时间它都没有任何回应。"),
    Reason.START_DEADLINE: (
        "It had not started when its start_within was over, so it was not started any more.",
        "在 start_within 规定的时间内没有开始,因此不再启动。",
    ),
    Reason.LEASE_LOST: (
        "The process that executed it died, or could no longer prove that it was alive.",
        "执行它的进程已经死亡,或无法再证明自己存活。",
    ),
    Reason.CANCELLED: ("It was cancelled.", "它被取消了。"),
    Reason.QUARANTINED: (
        "It took its process down again and again, even alone in a process of its own; a person must look.",
        "它一再使其进程崩溃,即使单独放在自己的进程里也是如此;需要人来处理。",
    ),
    Reason.RELEASED: (
        "Its node was stopping, or had lost the store, and handed it back.",
        "执行它的节点正在停止,或与存储失去了联系,已将其交还。",
    ),
    Reason.GATE_CLOSED: ("Its gate was closed: there was nothing to do.", "门控检查表示这次无事可做。"),
    Reason.GATE_FAILED: (
        "Its gate failed: it gave no verdict, so the target was not called.",
        "门控检查失败:没有给出结论,因此没有调用目标。",
    ),
    Reason.GATE_CHECKED: (
        "It was a check of the gate: the target was not called.",
        "这是对门控的检查:没有调用目标。",
    ),
    Reason.SKIPPED_BY_TARGET: ("The target itself skipped it.", "目标自行跳过了这一次。"),
    Reason.AWAITING_APPROVAL: (
        "The task waits for the approval of its owner or an admin.",
        "任务正在等待其所有者或管理员批准。",
    ),
    Reason.OVER_BUDGET: (
        "The budget of its group or task for that day had no room for it.",
        "其群组或任务当天的预算已不足。",
    ),
    Reason.AGENT_STOPPED: (
        "The agent of its group, or all agents, were stopped.",
        "其群组的智能体或所有智能体已被停止。",
    ),
    Reason.PREDECESSOR_SKIPPED: (
        "A task that it runs after did not end as it must.",
        "它所依赖的任务没有按要求结束。",
    ),
    Reason.NO_WORKER: (
        "No worker of its station had joined the node that called it.",
        "调用站点的节点上没有该站点的工作进程加入。",
    ),
    Reason.WORKER_LOST: (
        "The connection to the worker that executed it was lost.",
        "与执行它的工作进程的连接已断开。",
    ),
}


_CHINESE_PHRASES: Final[dict[Reason, str]] = {
    Reason.OVERLAP: "重叠",
    Reason.SUPERSEDED: "被取代",
    Reason.REPLACED: "被替换",
    Reason.STALE: "过期",
    Reason.MISSED_SKIPPED: "错过",
    Reason.MERGED: "已合并",
    Reason.PAUSED: "暂停",
    Reason.SKIP_REQUESTED: "按要求跳过",
    Reason.EXCLUDED: "节假日",
    Reason.QUOTA: "配额",
    Reason.AGENT_QUOTA: "智能体配额",
    Reason.OWNER_REVOKED: "权限已撤销",
    Reason.TARGET_UNKNOWN: "目标未知",
    Reason.TARGET_NOT_ALLOWED: "目标不允许",
    Reason.NOT_CALLED: "未调用",
    Reason.TARGET_FAILED: "目标失败",
    Reason.NO_ANSWER: "没有答复",
    Reason.DEADLINE: "超过时限",
    Reason.START_DEADLINE: "未及时开始",
    Reason.LEASE_LOST: "租约丢失",
    Reason.CANCELLED: "取消",
    Reason.QUARANTINED: "已隔离",
    Reason.RELEASED: "已交还",
    Reason.GATE_CLOSED: "门控未通过",
    Reason.GATE_FAILED: "门控失败",
    Reason.GATE_CHECKED: "门控检查",
    Reason.SKIPPED_BY_TARGET: "目标自行跳过",
    Reason.AWAITING_APPROVAL: "等待批准",
    Reason.OVER_BUDGET: "预算用尽",
    Reason.AGENT_STOPPED: "智能体已停止",
    Reason.PREDECESSOR_SKIPPED: "前置任务未满足",
    Reason.NO_WORKER: "没有工作进程",
    Reason.WORKER_LOST: "工作进程断开",
}
_ENGLISH_PHRASES: Final[dict[Reason, str]] = {Reason.MISSED_SKIPPED: "missed"}
"""Phrases that are shorter than the reason code with spaces."""


def reason_phrase(reason: Reason, language: Language) -> str:
    """Return a reason in one or two words, for a column or in brackets."""
    return (
        _ENGLISH_PHRASES.get(reason, reason.value.replace("_", " ")) if language == "en" else _CHINESE_PHRASES[reason]
    )


def describe_reason(reason: Reason, language: Language = "en") -> str:
    english, chinese = SENTENCES[reason]
    return english if language == "en" else full_width(chinese)
