"""Every sentence that the tools say, in English and Chinese; refusals have a catalogue of their own."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from ..choices import Language
from ..plural import agree
from ..typography import full_width


class _Pair(NamedTuple):
    en: str
    zh: str


class Words(_Pair):
    """The same in two languages, with `{places}` for facts; a fact may be words in two languages itself."""

    __slots__ = ()

    def __new__(cls, en: str, zh: str) -> Self:
        return super().__new__(cls, en, full_width(zh))

    def told(self, language: Language, **facts: object) -> str:
        said = {name: fact.told(language) if isinstance(fact, Words) else fact for name, fact in facts.items()}
        return (agree(self.en, said) if language == "en" else self.zh).format(**said)


CUT: Final = Words("… ({left} more characters)", "…(还有 {left} 个字符)")
MORE: Final = Words("; and {left} more", ";另有 {left} 项")

# --- what became of a task -----------------------------------------------------------------------------------------------

SCHEDULED: Final = Words(
    "Scheduled '{name}' ({id}): {means}. {next}{notes}",
    "已安排“{name}”({id}):{means}。{next}{notes}",
)
CHANGED: Final = Words("Changed '{name}' ({id}): {means}. {next}{notes}", "已修改“{name}”({id}):{means}。{next}{notes}")
SAME: Final = Words(
    "Nothing to change: '{name}' ({id}) is like that: {means}. {next}{notes}",
    "无需更改:“{name}”({id})已是如此:{means}。{next}{notes}",
)
WOULD_BE: Final = Words(
    "Only tried, nothing was written: '{name}' would mean {means}. {next}{notes}",
    "仅试算,未写入任何内容:“{name}”的含义是 {means}。{next}{notes}",
)
IN_ZONE: Final = Words("{means}, {zone}", "{means},{zone}")
MEANS: Final = Words("It means: {means}. {next}{notes}", "含义:{means}。{next}{notes}")
NEXT: Final = Words("Next: {fires}.", "接下来:{fires}。")
NEXT_OF: Final = Words(
    "{local} {zone} ({relative}, {utc})",
    "{local} {zone}({relative},{utc})",
)
AT_ONCE: Final = Words("It is due at once.", "立即到期。")
NOTHING_NEXT: Final = Words("Nothing is planned.", "没有后续安排。")
NOTE: Final = Words(" Note: {note}", " 注意:{note}")
WAITS_FOR_APPROVAL: Final = Words(
    "It waits until a person approves it: horae approve {id}",
    "它在等待人员批准:horae approve {id}",
)
NO_ENGINE: Final = Words(
    "No engine is running, so nothing is run until somebody starts one: horae up",
    "没有引擎在运行,启动之前不会执行任何任务:horae up",
)
NOT_ACTIVE: Final = Words("It is {state}, so nothing of it runs.", "它处于 {state} 状态,因此不会运行。")
FIRES_CHANGED: Final = Words(
    " Of the next fires {removed} go and {added} come; nothing runs for past times.",
    " 后续触发中取消 {removed} 次,新增 {added} 次;不会补跑过去的时间。",
)
PAUSED: Final = Words(
    "Paused '{name}' ({id}){until}. resume_task lets it go on.",
    "已暂停“{name}”({id}){until}。可用 resume_task 恢复。",
)
UNTIL: Final = Words(" until {until}", ",直到 {until}")
RESUMED: Final = Words("Resumed '{name}' ({id}). {next}", "已恢复“{name}”({id})。{next}")
CANCELLED: Final = Words(
    "Cancelled '{name}' ({id}) for good; its history stays. schedule_task makes a new one like it.",
    "已永久取消“{name}”({id}),历史保留。可用 schedule_task 重新创建。",
)

# --- what there is -------------------------------------------------------------------------------------------------------

TASKS: Final = Words("Tasks ({number}):", "{number} 个任务:")
NO_TASKS: Final = Words("No task fits.", "没有符合条件的任务。")
MORE_TASKS: Final = Words("Tasks ({number}, and more behind next_cursor):", "{number} 个任务,其余见 next_cursor:")
TASK_ROW: Final = Words("'{name}' ({id}) {state}, {next}", "“{name}”({id}){state},{next}")
NEXT_SHORT: Final = Words("next {local}", "下次 {local}")
NO_NEXT_SHORT: Final = Words("nothing next", "无后续")
TASK: Final = Words(
    "'{name}' ({id}) is {state}: {means}. {next}{last}",
    "“{name}”({id})状态 {state}:{means}。{next}{last}",
)
LAST: Final = Words(" Last run: {state} at {at}.", " 上次运行:{state},{at}。")
RUNS: Final = Words("Runs ({number}), newest first:", "{number} 次运行,最新的在前:")
MORE_RUNS: Final = Words(
    "Runs ({number}, and more behind next_cursor), newest first:", "{number} 次运行,最新的在前,其余见 next_cursor:"
)
NONE_YET: Final = Words("None so far; more behind next_cursor.", "暂无符合条件的;其余见 next_cursor。")
NO_RUNS: Final = Words("No run fits.", "没有符合条件的运行。")
RUN: Final = Words("{id} of '{task}' is {state}", "{id}(任务“{task}”)状态 {state}")
RUN_ROW: Final = Words("{id} {state}, planned {planned}", "{id} {state},计划于 {planned}")
BECAUSE: Final = Words(": {because}", ":{because}")
RESULT: Final = Words(" Result: {result}", " 结果:{result}")
ERROR: Final = Words(" Error: {error}", " 错误:{error}")
LINES: Final = Words(" {number} log lines.", " {number} 行日志。")
RUN_ASKED: Final = Words(
    "'{name}' ({id}) runs now; get_run with {run} tells how it ends.",
    "“{name}”({id})正在立即运行;用 get_run 查询 {run} 可知结果。",
)
STILL_GOING: Final = Words(
    "'{name}' ({id}) has not ended within {seconds} s; get_run with {run} tells how it ends.",
    "“{name}”({id})在 {seconds} 秒内尚未结束;用 get_run 查询 {run} 可知结果。",
)
UNDERSTOOD_MANY: Final = Words("This can be meant in more than one way: {choices}.", "这可能有多种含义:{choices}。")
CHOOSE: Final = Words("Choose one: {choices}.", "请选择其一:{choices}。")
WHO: Final = Words(
    "You act for {owner}{agent}, zone {zone}; {left}.", "你代表所有者 {owner}{agent},时区 {zone};{left}。"
)
AN_AGENT: Final = Words(" as the agent '{agent}'", "(代理“{agent}”)")
NO_ZONE: Final = Words("none, so name one each time", "未设置,因此每次都要指明")
LEFT: Final = Words("{left} of {most} active tasks are left", "活动任务还可新建 {left} 个(上限 {most})")
NO_LIMIT: Final = Words("no limit on tasks", "任务数量不限")
