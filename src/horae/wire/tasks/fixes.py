"""Suggests commands that fix the problem of an occurrence, chosen from its explanation in the ledger."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ...lifecycle.control.pause import can_start_again
from ...lifecycle.explain.explanation import Explanation, RunningNodes, Verdict
from ...message import Message
from ...model.accounts.account import agent_of
from ...model.agents.agent_task import executing_agent
from ...model.agents.group import folder_of_owner
from ...model.change import Facts
from ...model.lanes.lane import agent_of_lane, owner_lane
from ...model.lanes.node_labels import has_labels, label_options
from ...model.origin import Origin
from ...model.pauses import ALL_STOPPED_NOTE, GROUP_STOPPED_NOTE
from ...model.reason import Reason
from ...model.run import Run, RunState
from ...model.task import PauseCause, TaskState
from ...service.runs.explanations import OccurrenceExplanation, is_waiting_for_node
from ...service.tasks.functions.functions import function_of, start_command
from .task import waiting_for

FIXES: Final[dict[str, Message]] = {
    "run_as_of": Message("run that occurrence after all", "补跑这一次"),
    "make_up": Message("make up for what is missed from now on", "以后错过的自动补跑"),
    "look": Message("see what it said", "查看它的输出"),
    "retry": Message("try it again", "再试一次"),
    "retry_changed": Message("try it again, after that change", "更改之后再试一次"),
    "as_the_error_says": Message("set what was missing", "补上缺少的内容"),
    "payload": Message("give it arguments that fit its function", "改为与其函数相符的参数"),
    "definition": Message("see how it is defined", "查看它的定义"),
    "retry_allowed": Message("try it again, after the node was restarted", "节点重新启动后再试一次"),
    "resume": Message("let it go on", "恢复任务"),
    "after": Message("let it run after another task", "让它在另一个任务之后运行"),
    "resume_changed": Message("let it go on, after that change", "更改之后恢复任务"),
    "declare_again": Message("declare its function again, then start its node", "重新声明其函数,然后启动其节点"),
    "cancel_orphan": Message("end it, where its function is gone for good", "若其函数不再需要,结束该任务"),
    "approve": Message("its owner or an admin lets it run as it is", "由其所有者或管理员批准按现状运行"),
    "restart_agent": Message("its owner or an admin lets the agent go on", "由其所有者或管理员恢复该智能体"),
    "restart_all_agents": Message("an admin lets all agents go on", "由管理员恢复所有智能体"),
    "start_group": Message("an admin lets the group go on", "由管理员恢复该群组"),
    "owner": Message("an admin sees why nothing of this owner runs", "管理员可查看该所有者为何不能运行"),
    "new_token": Message("give the agent a token again", "重新为该智能体创建令牌"),
    "up": Message("start an engine", "启动节点"),
    "up_function": Message("start a node that has the function", "启动提供该函数的节点"),
    "up_file": Message("with the file that has the function", "其中是含有该函数的文件"),
    "up_another": Message("start another node", "另启动一个节点"),
    "undrain": Message("let the node start work again", "让该节点继续启动运行"),
    "node_functions": Message("see the functions of a running node", "查看正在运行的节点有哪些函数"),
    "function": Message("call that function instead", "改为调用该函数"),
    "queue": Message("let the next one wait instead", "让下一次等待,而不是跳过"),
    "stop": Message("end the run that is going", "结束正在进行的运行"),
    "longer": Message("give it more time", "给它更多时间"),
    "quota": Message("an admin allows more", "由管理员放宽配额"),
    "running": Message("see what runs now", "查看正在进行的运行"),
    "lane": Message("let more of the lane go on at once", "提高通道的并发上限"),
    "lanes": Message("see who is in its lane", "查看通道的占用"),
    "nodes": Message("see which nodes run, and what they can", "查看正在运行的节点"),
    "next": Message("see when it fires", "查看触发时间"),
    "unskip": Message("skip no more", "不再跳过"),
    "run": Message("run it once now", "立即运行一次"),
    "labels": Message("start a node with the labels", "启动带有这些标签的节点"),
    "start_within": Message("let it start however late", "允许任意晚开始"),
}

_RUNNABLE_LATER: Final = frozenset(
    {Reason.MISSED_SKIPPED, Reason.STALE, Reason.PAUSED, Reason.SKIP_REQUESTED, Reason.START_DEADLINE}
)
_COMMAND: Final = re.compile(r": (horae\s[^\n]+)")
_MISFIT: Final = re.compile(r"argument '.*' of ")
_FAILED: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})


_REFUSED: Final[dict[TaskState, frozenset[str]]] = {
    TaskState.CANCELLED: frozenset({"run", "retry", "resume", "edit", "skip"}),
    TaskState.PAUSED: frozenset({"retry"}),
    TaskState.COMPLETED: frozenset({"resume", "skip"}),
}
"""Commands that are refused for a task in this state."""


class Fix(NamedTuple):
    command: str
    does: Message

    @property
    def verb(self) -> str:
        return self.command.split()[1]


def fixes_for(
    why: OccurrenceExplanation, name: str, start: Callable[[str | None], str] = start_command, *, has_lines: bool = True
) -> tuple[Fix, ...]:
    """Return the fixes, the most likely one first; none if nothing is wrong, and none that would be refused.

    `name` refers to the task, quoted for a shell; `start` returns the command that starts a node with the functions of a
    file or module. `has_lines`: whether the newest run has written log lines.
    """
    unpause = pause_fixes(why.facts)
    if unpause:
        return unpause
    pause = why.facts.status.pause
    if pause is not None and pause.cause is PauseCause.ORPHANED:
        return tuple(_for_orphan(why, name, start))
    if pause is not None and pause.cause is PauseCause.PREDECESSOR_DELETED:
        # Resumed without a predecessor, it would never start.
        return (
            Fix(f"horae edit {name} --after TASK", FIXES["after"]),
            Fix(f"horae resume {name}", FIXES["resume_changed"]),
        )
    refused = _REFUSED.get(why.facts.status.state, frozenset())
    if why.explanation.verdict is Verdict.OVERDUE or is_waiting_for_node(why.facts, why.explanation.verdict):
        fixes = (*_for_function(why, name), *_for_node(why, start))
    else:
        fixes = (*_for_function(why, name), *_for(why.facts, why.explanation, why.at, name))
    resume = Fix(f"horae resume {name}", FIXES["resume"])
    if why.facts.status.pause is not None and resume not in fixes:
        fixes = (resume, *fixes)
    if why.facts.status.state is TaskState.FAILED and not can_start_again(why.facts, max(why.at, _ended(why.facts))):
        refused |= {"resume"}
    if not has_lines:
        refused |= {"logs"}
    return tuple(fix for fix in fixes if fix.verb not in refused)


def _ended(facts: Facts) -> datetime:
    return facts.status.ended or facts.task.created


def _for_function(why: OccurrenceExplanation, name: str) -> Iterator[Fix]:
    if why.near_function is not None:
        yield Fix(f"horae edit {name} --function {shlex.quote(why.near_function)}", FIXES["function"])


def _for_orphan(why: OccurrenceExplanation, name: str, start: Callable[[str | None], str]) -> Iterator[Fix]:
    """`resume` alone would only make the task wait for the function that its code no longer declares."""
    source = None if why.missing is None else why.missing.source
    yield Fix(start(source), FIXES["declare_again"])
    yield Fix(f"horae cancel {name}", FIXES["cancel_orphan"])


def _for_node(why: OccurrenceExplanation, start: Callable[[str | None], str]) -> Iterator[Fix]:
    """Yield fixes for an entry that is due and not claimed: commands for a node that starts it."""
    nodes = why.nodes or RunningNodes()
    where = why.facts.task.policies.where
    if where and not any(has_labels(where, labels) for _, labels in nodes.labels):
        yield Fix(f"horae up {label_options(where)}", FIXES["labels"])
        return
    is_function = function_of(why.facts.task.target) is not None
    source = None if why.missing is None else why.missing.source
    if why.missing is None or why.missing.code == "function_draining":
        yield from (Fix(f"horae nodes drain {each} --undo", FIXES["undrain"]) for each in nodes.draining[:1])
    if is_function and (why.missing is not None or not nodes.live):
        yield Fix(start(source), FIXES["up_file" if source is None else "up_function"])
        yield from (Fix(f"horae nodes show {each}", FIXES["node_functions"]) for each in nodes.live[:1])
        return
    if nodes.only_draining:
        yield Fix("horae up", FIXES["up_another"])
    elif not nodes.live:
        yield Fix("horae up", FIXES["up"])
    yield Fix("horae nodes", FIXES["nodes"])


def pause_fixes(facts: Facts) -> tuple[Fix, ...]:
    """Return fixes for pauses that `resume` does not end: an approval, the restart of an agent, the rights of the owner."""
    pause, task = facts.status.pause, facts.task
    if pause is None and facts.block_reason is Reason.OWNER_REVOKED and facts.status.state is TaskState.ACTIVE:
        return (Fix(f"horae owner show {shlex.quote(task.owner)}", FIXES["owner"]),)
    maker = executing_agent(task)
    if pause is not None and pause.cause is PauseCause.QUOTA:
        return (_quota_fix(facts, pause.note.removeprefix("quota ") or "active_tasks", "never", agent_of(task)),)
    if pause is None or maker is None:
        return ()
    agent, owner = shlex.quote(maker), shlex.quote(task.owner)
    match pause.cause:
        case PauseCause.AWAITING_APPROVAL:
            return (Fix(f"horae approve {task.id}", FIXES["approve"]),)
        case PauseCause.AGENT_STOPPED if pause.note == ALL_STOPPED_NOTE:
            return (Fix("horae agent restart --all", FIXES["restart_all_agents"]),)
        case PauseCause.AGENT_STOPPED if pause.note == GROUP_STOPPED_NOTE:
            return (Fix(f"horae group start {folder_of_owner(task.owner)}", FIXES["start_group"]),)
        case PauseCause.AGENT_STOPPED:
            return (Fix(f"horae agent restart {agent} --owner {owner}", FIXES["restart_agent"]),)
        case PauseCause.OWNER_REVOKED:
            return (
                Fix(f"horae token make {agent} --agent {agent} --owner {owner}", FIXES["new_token"]),
                Fix(f"horae agent restart {agent} --owner {owner}", FIXES["restart_agent"]),
            )
        case _:
            return ()


def _for(facts: Facts, found: Explanation, at: datetime, name: str) -> Iterator[Fix]:
    match found.verdict:
        case Verdict.SKIPPED:
            yield from _skipped(facts, found, at, name)
        case Verdict.RAN:
            yield from () if found.run is None else _ran(found.run, name)
        case Verdict.PAUSED:
            yield Fix(f"horae resume {name}", FIXES["resume"])
            yield Fix(f"horae run {name}", FIXES["run"])
        case Verdict.WAITING | Verdict.RUNNING:
            yield from _waiting(facts, found, name)
        case Verdict.OVER:
            yield Fix(f"horae run {name}", FIXES["run"])
            yield Fix(f"horae resume {name}", FIXES["resume"])
        case Verdict.NOT_PLANNED:
            yield Fix(f"horae next --task {name}", FIXES["next"])
        case Verdict.PENDING if found.reason is Reason.QUOTA:
            yield Fix(f"horae owner show {shlex.quote(facts.task.owner)}", FIXES["owner"])
        case Verdict.OVERDUE | Verdict.PENDING | Verdict.NOT_CREATED | Verdict.FORGOTTEN:
            return


def _quota_fix(facts: Facts, quota: str, value: str | int, agent: str | None = None) -> Fix:
    owner = shlex.quote(facts.task.owner)
    whose = f"owner set {owner}" if agent is None else f"agent set {shlex.quote(agent)} --owner {owner}"
    return Fix(f"horae {whose} --quota {quota}={value}", FIXES["quota"])


def _skipped(facts: Facts, found: Explanation, at: datetime, name: str) -> Iterator[Fix]:
    if found.reason is Reason.AGENT_QUOTA:
        yield _quota_fix(facts, "runs_per_day", "never", agent_of(facts.task))
    if found.reason is Reason.OWNER_REVOKED or (found.reason is Reason.QUOTA and facts.block_reason is Reason.QUOTA):
        yield Fix(f"horae owner show {shlex.quote(facts.task.owner)}", FIXES["owner"])
    if found.reason in _RUNNABLE_LATER:
        # Only the schedule has an occurrence at that instant: a requested or chained one cannot be backfilled.
        is_scheduled = found.run is None or found.run.origin is Origin.SCHEDULED
        as_of = Fix(f"horae run {name} --as-of {_instant(at)}", FIXES["run_as_of"])
        yield as_of if is_scheduled else Fix(f"horae run {name}", FIXES["run"])
    if found.reason in (Reason.MISSED_SKIPPED, Reason.STALE):
        yield Fix(f"horae edit {name} --missed 'latest within 7d'", FIXES["make_up"])
    if found.reason is Reason.START_DEADLINE:
        yield Fix(f"horae edit {name} --start-within never", FIXES["start_within"])
    if found.reason is Reason.OVERLAP:
        yield Fix(f"horae edit {name} --overlap queue", FIXES["queue"])
        yield from (Fix(f"horae stop {run.id}", FIXES["stop"]) for run in facts.live[:1])
    if found.reason is Reason.PAUSED and facts.status.pause is not None:
        yield Fix(f"horae resume {name}", FIXES["resume"])
    if found.reason is Reason.SKIP_REQUESTED and facts.status.skips_left:
        yield Fix(f"horae skip {name} 0", FIXES["unskip"])


def _ran(run: Run, name: str) -> Iterator[Fix]:
    if run.state not in _FAILED:
        return
    if run.reason is Reason.TARGET_NOT_ALLOWED:  # it has not started, so there is no log; its error names the setting
        yield Fix(f"horae retry {run.id}", FIXES["retry_allowed"])
        return
    if run.reason is Reason.NOT_CALLED:
        yield from _not_called(run, name)
        return
    yield Fix(f"horae logs {run.id}", FIXES["look"])
    yield Fix(f"horae retry {run.id}", FIXES["retry"])
    if run.state is RunState.TIMED_OUT:
        yield Fix(f"horae edit {name} --timeout 30m", FIXES["longer"])


def _not_called(run: Run, name: str) -> Iterator[Fix]:
    """A retry before the change that the error names would fail again."""
    command = _COMMAND.search(run.error or "")
    if command is not None:
        yield Fix(command[1], FIXES["as_the_error_says"])
    elif _MISFIT.match(run.error or ""):
        yield Fix(f"horae edit {name} --payload JSON", FIXES["payload"])
    else:
        yield Fix(f"horae show {name}", FIXES["definition"])
    yield Fix(f"horae retry {run.id}", FIXES["retry_changed"])


def _waiting(facts: Facts, found: Explanation, name: str) -> Iterator[Fix]:
    kind, _, place = (waiting_for(facts) or "").partition(":")
    if kind == "lane":
        owner, limit = facts.task.owner, max((lane.limit for lane in facts.lanes if lane.name == place), default=1)
        agent = agent_of_lane(owner, place)
        if (
            place == owner_lane(owner) or agent is not None
        ):  # the lane is a quota, which the lane command does not change
            yield _quota_fix(facts, "concurrent_runs", limit + 1, agent)
            yield Fix("horae runs --state running", FIXES["running"])
            return
        yield Fix("horae lanes", FIXES["lanes"])
        if not any(lane.name == place and lane.rate is not None and lane.used < lane.limit for lane in facts.lanes):
            # An entry that waits for the rate of its lane goes on by itself.
            yield Fix(f"horae lane {shlex.quote(place)} {limit + 1}", FIXES["lane"])
    else:
        yield from (Fix(f"horae logs {run.id} --follow", FIXES["look"]) for run in facts.live[:1])
        yield from (Fix(f"horae stop {run.id}", FIXES["stop"]) for run in facts.live[:1])
    if found.verdict is Verdict.WAITING and kind == "run":
        yield Fix(f"horae edit {name} --overlap parallel", FIXES["queue"])


def _instant(at: datetime) -> str:
    plain = at.astimezone(UTC).replace(tzinfo=None)
    return plain.isoformat(timespec="auto" if plain.microsecond else "seconds") + "Z"
