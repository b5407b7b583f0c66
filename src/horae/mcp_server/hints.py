"""Hints of refusals for assistants: tools and arguments instead of commands and HTTP requests.

Actions that only a person can take are phrased as a request to that person, with the command to run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..choices import Language
from ..errors import InvalidSchedule, Refusal
from ..message import Message
from ..model.refusals import CATALOGUE, refuse
from ..schedule.text import parse_text
from ..schedule.text.parse import has_chinese


class Hint(NamedTuple):
    """A sentence, and the tool calls that it names; their `{placeholders}` are facts of the refusal.

    A call of SAME_CALL repeats the refused call with these arguments changed; one that is None is left out.
    """

    words: Message
    calls: tuple[tuple[str, Mapping[str, str | Message | None]], ...] = ()


SAME_CALL: Final = "schedule_task"
_DAILY: Final = Message("every day at 09:00", "每天9点")
_NEAREST: Final = Message("{example}", "{example_zh}")
_RENAMED: Final = {"missed": "if_late"}
"""Names of the wire, and the argument of the tools that stands for each."""
_OTHER_SPELLINGS: Final = {"when": ("schedule_type", "schedule_value"), "do": ("prompt",)}
_OURS: Final = {"prompt": "do", "task_id": "id"}
MAX_PAGE: Final = 100
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


HINTS: Final[dict[str, Hint]] = {
    "key_of_cancelled": Hint(
        Message(
            'Call schedule_task again with key "{other}": the cancelled task keeps its key.',
            '请用 key "{other}" 再次调用 schedule_task:已取消的任务保留原来的键。',
        ),
        ((SAME_CALL, {"key": "{other}"}),),
    ),
    "not_cancelled": Hint(
        Message("Look at it with get_task, id {id}.", "可用 id {id} 调用 get_task 查看。"),
        (("get_task", {"id": "{id}"}),),
    ),
    "cancel_is_final": Hint(
        Message(
            "Make a new task with schedule_task; get_task with id {id} shows this one.",
            "请用 schedule_task 新建任务;可用 id {id} 调用 get_task 查看此任务。",
        ),
        (("get_task", {"id": "{id}"}),),
    ),
    "cancelled_by_another": Hint(
        Message("Ask its owner to run: horae undo {id}", "请让其所有者执行:horae undo {id}"),
    ),
    "one_input": Hint(
        Message(
            "Give one of the two: input replaces the payload, merge changes fields of it.",
            "请给出二者之一:input 替换负载,merge 更改其中的字段。",
        ),
    ),
    "unknown_predecessor": Hint(
        Message(
            "Name a task of the same owner by its id, key or name; list_tasks shows them.",
            "请用 ID、键或名称指定同一所有者的任务;list_tasks 会列出它们。",
        ),
    ),
    "has_successors": Hint(
        Message(
            "Cancel it with cancel_task instead: the tasks that run after it then wait for nothing.",
            "请改用 cancel_task 取消它:在它之后运行的任务便不再等待。",
        ),
    ),
    "no_such_stream": Hint(
        Message(
            "Send a first message with send_message and stream {name}: that makes the stream.",
            "请用 stream {name} 调用 send_message 发送第一条消息：消息流随之创建。",
        ),
    ),
    "messages_full": Hint(
        Message(
            "Ask the owner to keep fewer messages: horae messages set STREAM --keep 1000",
            "请所有者减少保留的消息：horae messages set STREAM --keep 1000",
        ),
    ),
    "stream_full": Hint(
        Message(
            "Ask the owner to keep fewer messages: horae messages set {stream} --keep 1000",
            "请所有者减少保留的消息：horae messages set {stream} --keep 1000",
        ),
    ),
    "too_many_message_streams": Hint(
        Message(
            "Ask the owner to delete a stream that is no longer needed: horae messages rm STREAM",
            "请所有者删除不再需要的消息流：horae messages rm STREAM",
        ),
    ),
    "task_cancelled": Hint(
        Message(
            "Bring it back with restore_task, within 30 days; or make a new task with schedule_task, with another key where this one has a key.",
            "30 天内可用 restore_task 恢复它;或用 schedule_task 新建任务,若此任务有键,请换一个 key。",
        ),
    ),
    "task_over": Hint(
        Message(
            'Call run_task_now with id {id} for one more run, or update_task with id {id} and a new when, such as "every day at 09:00".',
            '可用 id {id} 调用 run_task_now 再运行一次,或用 id {id} 和新的 when(例如 "每天9点")调用 update_task。',
        ),
        (("run_task_now", {"id": "{id}"}), ("update_task", {"id": "{id}", "when": _DAILY})),
    ),
    "nothing_to_retry": Hint(
        Message(
            "Call run_task_now with id {task} for one extra run.", "请用 id {task} 调用 run_task_now 额外运行一次。"
        ),
        (("run_task_now", {"id": "{task}"}),),
    ),
    "input_not_approved": Hint(
        Message(
            "Ask the owner to run it with this input: horae run {id} --input JSON. Or call update_task with id {id}, "
            "and ask for approval.",
            "请让所有者用此输入运行它:horae run {id} --input JSON。也可用 id {id} 调用 update_task,并请求批准。",
        ),
    ),
    "quota_used_up": Hint(
        Message(
            "Wait until there is room, or ask an admin to run: {command}",
            "请等到有余量时再试,或请管理员执行:{command}",
        )
    ),
    "unknown_destination": Hint(
        Message(
            "Name another one in notify, or ask the owner to add it: horae notify add {name}. {known}",
            "请在 notify 中改用其他目的地,或请所有者添加:horae notify add {name}。{known_zh}",
        ),
    ),
    "system_task": Hint(
        Message(
            "You can read it with get_task. Leave it as it is, or ask an admin to pause or run it.",
            "您可以用 get_task 查看它。请不要改动它,或请管理员暂停或运行它。",
        ),
    ),
    "run_over": Hint(
        Message(
            "An end is final. Call run_task_now with id {task} for another run.",
            "结束状态不可更改;如需再次运行,请用 id {task} 调用 run_task_now。",
        ),
        (("run_task_now", {"id": "{task}"}),),
    ),
    "task_paused": Hint(
        Message(
            "Call resume_task with id {id} first, or run_task_now with id {id} for one run.",
            "请先用 id {id} 调用 resume_task 恢复它,或用 id {id} 调用 run_task_now 只运行一次。",
        ),
        (("resume_task", {"id": "{id}"}), ("run_task_now", {"id": "{id}"})),
    ),
    "no_gate": Hint(
        Message(
            "Give it one with update_task and gate, or call run_task_now with id {id} without gate_only.",
            "请用 update_task 的 gate 为它设置门控,或不带 gate_only 以 id {id} 调用 run_task_now。",
        ),
        (("run_task_now", {"id": "{id}"}),),
    ),
    "already_running": Hint(
        Message(
            "Wait until that run has ended (list_runs shows it), then call run_task_now again.",
            "请等待该运行结束(list_runs 可查看),然后再次调用 run_task_now。",
        ),
        (("list_runs", {"state": "running,waiting"}),),
    ),
    "retry_waiting": Hint(
        Message(
            "Wait until that attempt has ended: explain_task says when it starts.",
            "请等待那次尝试结束:explain_task 会说明它何时开始。",
        ),
    ),
    "run_requested": Hint(
        Message(
            "It starts when a node has room for it; explain_task with id {task} says what is missing.",
            "节点有空位时它会启动;可用 id {task} 调用 explain_task 查看缺少什么。",
        ),
    ),
    "gate_check_requested": Hint(
        Message(
            "Its verdict will be the result of that run; explain_task with id {task} says what is missing.",
            "结论将是该运行的结果;可用 id {task} 调用 explain_task 查看缺少什么。",
        ),
    ),
    "run_waiting": Hint(
        Message(
            "It appears when a node starts it: explain_task with id {task} says what is missing.",
            "节点启动后它才会出现:可用 id {task} 调用 explain_task 查看缺少什么。",
        ),
    ),
    "no_such_task": Hint(
        Message(
            "Look for it with list_tasks; it may have been deleted.",
            "请用 list_tasks 查找;它可能已被删除。",
        ),
        (("list_tasks", {}),),
    ),
    "no_such_run": Hint(
        Message(
            "A queued run appears when a node starts it: try again then. Else look for it with list_runs; old runs are removed by retention.",
            "排队中的运行要等节点启动它之后才会出现,请稍后再试;否则请用 list_runs 查找。旧的运行会按保留策略删除。",
        ),
        (("list_runs", {}),),
    ),
    "stale_version": Hint(
        Message(
            "Look at it again with get_task, then call update_task with version {version}.",
            "请用 get_task 重新查看,然后以 version {version} 再次调用 update_task。",
        ),
    ),
    "never_fires": Hint(
        Message(
            'Check the start, end and number of times in when; preview_schedule with when "every day at 09:00" shows what a schedule means.',
            '请检查 when 中的起止时间和次数;可用 when "每天9点" 调用 preview_schedule 查看计划的含义。',
        ),
        (("preview_schedule", {"when": _DAILY}),),
    ),
    "interval_too_short": Hint(
        Message(
            'The nearest that is allowed: when "{example}". To allow less, ask the owner to run: {command}',
            '最接近的可用写法:when "{example_zh}"。如需更短,请所有者运行:{command}',
        ),
        ((SAME_CALL, {"when": _NEAREST}),),
    ),
    "chain_over_quota": Hint(
        Message(
            "Let it run after a task nearer to the first one of the chain. To allow more, ask an admin to run: {command}",
            "请让它在更靠近链首的任务之后运行。如需更多,请管理员运行:{command}",
        )
    ),
    "life_too_long": Hint(
        Message(
            'Give it an end, such as when "{example}". To lift the limit, ask the owner to run: {command}',
            '请为它设定结束,例如 when "{example_zh}"。如需取消此限制,请所有者运行:{command}',
        ),
        ((SAME_CALL, {"when": _NEAREST}),),
    ),
    "retry_too_soon": Hint(
        Message(
            "Its function declares these retries. To allow them, ask the owner to run: {command}",
            "这些重试由其函数声明。如需允许,请所有者运行:{command}",
        ),
    ),
    "task_lanes_over_quota": Hint(
        Message(
            "Leave some of the lanes out. To allow more, ask the owner to run: {command}",
            "请去掉一些通道。如需更多,请所有者运行:{command}",
        ),
    ),
    "too_many_tasks": Hint(
        Message(
            "Choose one with list_tasks and end it with cancel_task first (paused tasks of an agent count too). To allow more, ask the owner to run: {command}",
            "请先用 list_tasks 选出一个任务,再用 cancel_task 结束它(智能体暂停的任务也计入)。如需更多,请所有者运行:{command}",
        ),
        (("list_tasks", {"q": "state:active"}),),
    ),
    "too_many_stored_tasks": Hint(
        Message(
            "Ask the owner to delete some that are over, or an admin to change 'stored_tasks'. To delete one: horae rm TASK",
            "请所有者删除一些已结束的任务,或请管理员调整“stored_tasks”。删除一个任务:horae rm 任务",
        ),
    ),
    "too_many_bytes": Hint(
        Message(
            "Ask the owner to delete tasks with their history, one with: horae rm TASK. To allow more, ask an admin to run: {command}",
            "请所有者删除任务及其历史,删除一个任务:horae rm 任务。如需更多,请管理员运行:{command}",
        ),
    ),
    "awaiting_approval": Hint(
        Message(
            "Ask the owner to look at it and to run: horae approve {id}",
            "请所有者查看后运行:horae approve {id}",
        ),
    ),
    "secret_not_granted": Hint(
        Message(
            "Ask the owner to run: horae secret grant {name} --agent {agent} --owner {owner}",
            "请所有者运行:horae secret grant {name} --agent {agent} --owner {owner}",
        ),
    ),
    "no_such_secret": Hint(
        Message(
            "Ask the owner which secrets there are, or to set it: horae secret set {name}",
            "请所有者告知有哪些机密,或设置它:horae secret set {name}",
        ),
    ),
    "secret_sealed_otherwise": Hint(
        Message(
            "Ask the owner to set it again: horae secret set {name}",
            "请所有者重新设置:horae secret set {name}",
        ),
    ),
    "agent_revoked": Hint(
        Message(
            "Ask the owner to make a new token first: horae token make {agent} --agent {agent} --owner {owner}; then: horae agent restart {agent} --owner {owner}",
            "请所有者先创建新令牌:horae token make {agent} --agent {agent} --owner {owner};然后:horae agent restart {agent} --owner {owner}",
        ),
    ),
    "agents_stopped": Hint(
        Message(
            "Do not try again. Ask the owner whether an admin may let agents go on: horae agent restart --all",
            "请不要重试。请询问所有者,管理员是否可以恢复智能体:horae agent restart --all",
        )
    ),
    "agent_stopped": Hint(
        Message(
            "Ask the owner whether it may go on, and to run: horae agent restart {agent} --owner {owner}",
            "请询问所有者是否可以继续,并请其运行:horae agent restart {agent} --owner {owner}",
        ),
    ),
    "bad_page": Hint(
        Message(
            "Leave cursor out for the first page, then pass next_cursor of the answer before; limit is 1 to 100.",
            "第一页不要传 cursor,之后传上一个答复的 next_cursor;limit 为 1 到 100。",
        ),
        ((SAME_CALL, {"cursor": None}),),
    ),
}


class ToolHint(NamedTuple):
    hint: str
    calls: list[dict[str, Any]]


class RefusedCall(NamedTuple):
    """The call that was refused: a tool, its arguments and the moment of the call."""

    tool: str
    arguments: Mapping[str, Any]
    at: datetime

    def changed(self, changes: Mapping[str, str | None]) -> dict[str, Any]:
        """Return the same call with other values for some arguments; None leaves an argument out."""
        dropped = {other for name in changes for other in (name, *_OTHER_SPELLINGS.get(name, ()))}
        kept = {_OURS.get(name, name): value for name, value in self.arguments.items() if name not in dropped}
        return {
            "tool": self.tool,
            "arguments": kept | {name: value for name, value in changes.items() if value is not None},
        }


def in_tool_words(refusal: Refusal) -> Refusal:
    """Return the same refusal with the names and limits that the tools have."""
    facts = dict(refusal.facts)
    if refusal.code == "bad_page":
        facts |= {"wanted": "cursor" if facts.get("wanted") == "after" else facts.get("wanted"), "most": MAX_PAGE}
    elif facts.get("name") in _RENAMED and refusal.code in CATALOGUE:
        facts["name"] = _RENAMED[str(facts["name"])]
    else:
        return refusal
    return refuse(refusal.code, **facts)


def tool_hint(
    refusal: Refusal, facts: Mapping[str, object], language: Language, refused: RefusedCall
) -> ToolHint | None:
    """Return the hint of a refusal for assistants; None where the catalogue's own hint applies."""
    hint = HINTS.get(refusal.code)
    if hint is None:
        return None
    facts = _with_own_schedule(refusal, facts, refused)
    try:
        calls = [_call(tool, arguments, facts, language, refused) for tool, arguments in hint.calls]
        return ToolHint(hint.words.in_language(language, **facts), calls)
    except KeyError:
        # A refusal of the same code with fewer facts keeps the hint of its catalogue.
        return None


def _with_own_schedule(refusal: Refusal, facts: Mapping[str, object], refused: RefusedCall) -> Mapping[str, object]:
    """For a task that must end: the schedule of the call with an end, where it can be read so."""
    when, end = refused.arguments.get("when"), _DATE.search(str(facts.get("example", "")))
    if refusal.code != "life_too_long" or not isinstance(when, str) or end is None:
        return facts
    ended = f"{when}，直到{end[0]}" if has_chinese(when) else f"{when} until {end[0]}"
    try:
        parse_text(ended, zone="UTC", now=refused.at)
    except InvalidSchedule:
        return facts
    return {**facts, "example": ended, "example_zh": ended}


def _call(
    tool: str,
    arguments: Mapping[str, str | Message | None],
    facts: Mapping[str, object],
    language: Language,
    refused: RefusedCall,
) -> dict[str, Any]:
    filled = {name: _filled(value, facts, language) for name, value in arguments.items()}
    return refused.changed(filled) if tool == SAME_CALL else {"tool": tool, "arguments": filled}


def _filled(value: str | Message | None, facts: Mapping[str, object], language: Language) -> str | None:
    if isinstance(value, Message):
        return (value.en if language == "en" else value.zh).format_map(facts)
    return None if value is None else value.format_map(facts)
