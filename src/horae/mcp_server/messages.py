"""Messages of the tools in English and Chinese; refusals have a catalogue of their own."""

from __future__ import annotations

from typing import Final

from ..message import Message

CUT: Final = Message("… ({left} more characters)", "…(还有 {left} 个字符)")
MORE: Final = Message("; and {left} more", ";另有 {left} 项")
ROW_MARK: Final = Message("; ", "；")
HEAD_MARK: Final = Message(" ", "")
LIST_MARK: Final = Message(", ", "，")

# --- changes to a task ---------------------------------------------------------------------------------------------------

SCHEDULED: Final = Message(
    "Scheduled '{name}' ({id}): {means}. {next}{notes}",
    "已安排“{name}”({id}):{means}。{next}{notes}",
)
CHANGED: Final = Message(
    "Changed '{name}' ({id}): {means}. {next}{notes}", "已修改“{name}”({id}):{means}。{next}{notes}"
)
SAME: Final = Message(
    "Nothing to change: '{name}' ({id}) is like that: {means}. {next}{notes}",
    "无需更改:“{name}”({id})已是如此:{means}。{next}{notes}",
)
WOULD_BE: Final = Message(
    "Only tried, nothing was written: '{name}' would mean {means}. {next}{notes}",
    "仅试算,未写入任何内容:“{name}”的含义是 {means}。{next}{notes}",
)
IN_ZONE: Final = Message("{means}, {zone}", "{means},{zone}")
MEANS: Final = Message("It means: {means}. {next}{notes}", "含义:{means}。{next}{notes}")
NEXT: Final = Message("Next: {fires}.", "接下来:{fires}。")
NEXT_OF: Final = Message(
    "{local} {zone} ({relative}, {utc})",
    "{local} {zone}({relative},{utc})",
)
AT_ONCE: Final = Message("It is due at once.", "立即到期。")
RUNS_AFTER: Final = Message("It has no times of its own.", "它没有自己的时间。")
NOTHING_NEXT: Final = Message("Nothing is planned.", "没有后续安排。")
NOTE: Final = Message(" Note: {note}", "注意:{note}")
WAITS_FOR_APPROVAL: Final = Message(
    "It waits until its owner approves it with: horae approve {id}",
    "它在等待所有者批准:horae approve {id}",
)
NO_ENGINE: Final = Message(
    "No node is alive, so nothing runs until one is started with '{command}'.",
    "没有节点在运行,用“{command}”启动之前不会执行任何任务。",
)
NOT_ACTIVE: Final = Message("It is {state}, so nothing of it runs.", "它处于“{state}”状态,因此不会运行。")
PAUSED_NOW: Final = Message("It is paused{reason}, so nothing comes{would}.", "它已暂停{reason},不会触发{would}。")
PAUSED_UNTIL: Final = Message(
    "It is paused{reason} until {until}; then next: {fires}.", "它已暂停{reason},直到 {until};之后的触发时间:{fires}。"
)
WAITS_AND_WOULD: Final = Message(
    "It waits until its owner approves it with: horae approve {id}{would}.",
    "它在等待所有者批准(horae approve {id}){would}。",
)
WOULD_COME: Final = Message("; resumed now, it would run next: {fires}", ";若现在恢复,下次触发:{fires}")
WOULD_COME_APPROVED: Final = Message("; approved now, it would run next: {fires}", ";若现在批准,下次触发:{fires}")
PAUSE_REASON: Final = Message(" ({reason})", "（{reason}）")
FIRES_CHANGED: Final = Message(
    " The times ahead have changed; nothing runs for past times.", "后续触发时间已变更,不会补跑过去的时间。"
)
PAUSED: Final = Message(
    "Paused '{name}' ({id}){until}{reason}. resume_task resumes it.",
    "已暂停“{name}”({id}){until}{reason}。可用 resume_task 恢复。",
)
STILL_WAITS: Final = Message(
    "Nothing to pause: '{name}' ({id}) waits until its owner approves it with: horae approve {id}",
    "无需暂停:“{name}”({id})正在等待所有者批准:horae approve {id}",
)
BECAUSE_OF: Final = Message("; reason: {reason}", ",原因:{reason}")
UNTIL: Final = Message(" until {until}", ",直到 {until}")
RESUMED: Final = Message("Resumed '{name}' ({id}). {next}{notes}", "已恢复“{name}”({id})。{next}{notes}")
NOT_PAUSED: Final = Message(
    "Nothing to resume: '{name}' ({id}) is not paused. {next}{notes}",
    "无需恢复:“{name}”({id})没有暂停。{next}{notes}",
)
CANCELLED: Final = Message(
    "Cancelled '{name}' ({id}); its history stays.{undo} schedule_task makes a new one{key}.",
    "已取消“{name}”({id}),历史保留。{undo}可用 schedule_task 重新创建{key}。",
)
CANCEL_UNDO: Final = Message(
    " restore_task brings it back, within 30 days.",
    "30 天内可用 restore_task 恢复它。",
)
RESTORED: Final = Message(
    "Restored '{name}' ({id}): it is as it was before the cancel. {next}{notes}",
    "已恢复“{name}”({id}):与取消前相同。{next}{notes}",
)
WITH_OTHER_KEY: Final = Message(
    ', with another key such as "{other}": this task keeps the key "{key}"',
    ',但要换一个 key,例如 "{other}":键 "{key}" 仍属于此任务',
)

# --- lists and details ---------------------------------------------------------------------------------------------------

TASKS: Final = Message("Tasks ({number}), times in {zone}:", "{number} 个任务,时区 {zone}:")
NO_TASKS: Final = Message("No task fits.", "没有符合条件的任务。")
MORE_TASKS: Final = Message(
    "Tasks ({number}, and more behind next_cursor), times in {zone}:", "{number} 个任务,其余见 next_cursor,时区 {zone}:"
)
TASK_ROW: Final = Message("'{name}' ({id}) {state}, {next}", "“{name}”({id}):{state},{next}")
NEXT_SHORT: Final = Message("next {local}", "下次 {local}")
NO_NEXT_SHORT: Final = Message("nothing next", "无后续")
TASK: Final = Message(
    "'{name}' ({id}) is {state}: {means}. {next}{last}{notes}",
    "“{name}”({id})状态为“{state}”:{means}。{next}{last}{notes}",
)
LAST: Final = Message(" Last run: {state} at {at}.", "上次运行:{state},{at}。")
REJECTED: Final = Message(" The user rejected it.", "用户已拒绝。")
REJECTED_BECAUSE: Final = Message(" The user rejected it: {reason}", "用户已拒绝:{reason}")
EXPLAINED: Final = Message("'{name}', {at} {zone}: {sentence}", "“{name}”,{at} {zone}:{sentence}")
RUNS: Final = Message("Runs ({number}), newest first, times in {zone}:", "{number} 次运行,最新的在前,时区 {zone}:")
MORE_RUNS: Final = Message(
    "Runs ({number}, and more behind next_cursor), newest first, times in {zone}:",
    "{number} 次运行,最新的在前,其余见 next_cursor,时区 {zone}:",
)
NONE_YET: Final = Message("None so far; more behind next_cursor.", "暂无符合条件的;其余见 next_cursor。")
NO_RUNS: Final = Message("No run fits.", "没有符合条件的运行。")
RUN: Final = Message("{id} of '{task}' is {state}", "{id}(任务“{task}”)状态为“{state}”")
STOP: Final = Message(".", "。")
RUN_ROW: Final = Message(
    "{id} of '{task}' ({task_id}) {state}, planned {planned}",
    "{id}(任务“{task}”,{task_id}):{state},计划于 {planned}",
)
RUN_ROW_OF_ID: Final = Message(
    "{id} of task {task_id} {state}, planned {planned}", "{id}(任务 {task_id}):{state},计划于 {planned}"
)
BECAUSE: Final = Message(": {because}", "：{because}")
RESULT: Final = Message(" Result: {result}", "结果:{result}")
ERROR: Final = Message(" Error: {error}", "错误:{error}")
LINES: Final = Message(" {number} log lines.", " {number} 行日志。")
RUN_ASKED: Final = Message(
    "One more run of '{name}' ({id}) starts now; get_run with id {run} tells how it ends.{notes}",
    "“{name}”({id})立即多运行一次;用 id {run} 调用 get_run 可知结果。{notes}",
)
RUN_QUEUED: Final = Message(
    "One more run of '{name}' ({id}) is queued, but no node is alive: it starts when one is started with 'horae up'; then get_run with id {run} tells how it ends.{notes}",
    "“{name}”({id})多运行一次,已排队,但没有节点在运行:用“horae up”启动节点后才会开始;之后用 id {run} 调用 get_run 可知结果。{notes}",
)
RUNS_THOUGH_PAUSED: Final = Message(
    "The task is paused: this one run happens all the same, and its schedule stays paused.",
    "任务已暂停:这一次仍会运行,其计划保持暂停。",
)
STILL_GOING: Final = Message(
    "The run of '{name}' ({id}) has not ended within {seconds} s; get_run with id {run} tells how it ends.{notes}",
    "“{name}”({id})的这次运行在 {seconds} 秒内尚未结束;用 id {run} 调用 get_run 可知结果。{notes}",
)
UNDERSTOOD_MANY: Final = Message("This can be meant in more than one way: {choices}.", "这可能有多种含义:{choices}。")
CHOOSE: Final = Message("Choose one: {choices}.", "请选择其一:{choices}。")
WHO: Final = Message(
    "You act for {owner}{agent}, zone {zone}; {left}.{notes}", "你代表所有者 {owner}{agent},时区 {zone};{left}。{notes}"
)
AN_AGENT: Final = Message(" as the agent '{agent}'", "(智能体“{agent}”)")
NO_ZONE: Final = Message("none, so name one each time", "未设置,因此每次都要指明")
LEFT: Final = Message("{left} of {most} active tasks are left", "活动任务还可新建 {left} 个(上限 {most})")
STOPPED: Final = Message(
    "its owner has stopped it, so nothing of it runs and it makes no tasks until: horae agent restart {agent} --owner {owner}",
    "已被其所有者停止,不会运行也不能新建任务,直到:horae agent restart {agent} --owner {owner}",
)
NO_NODE: Final = Message(
    " No node is alive, so nothing runs until one is started with 'horae up'.",
    "没有节点在运行,用“horae up”启动之前不会执行任何任务。",
)
NO_LIMIT: Final = Message("no limit on tasks", "任务数量不限")
SENT_MESSAGE: Final = Message("Message {number} of {stream}.", "{stream} 的第 {number} 号消息。")
SENT_TO_CHAT: Final = Message("On its way to {chat}: {delivery}.", "正在发送到 {chat}：{delivery}。")
NO_MESSAGES: Final = Message("No further messages in {stream}.", "{stream} 中没有更多消息。")
MESSAGES: Final = Message("{number} messages of {stream}:", "{stream} 的 {number} 条消息：")
NO_GROUPS: Final = Message("No chat groups.", "没有聊天群组。")
GROUPS: Final = Message("{number} groups:", "{number} 个群组:")
GROUP_ROW: Final = Message("{folder} '{name}', messages in {stream}", "{folder}“{name}”,消息在 {stream}")
MESSAGE_ROW: Final = Message("{number} {sender}: {text}", "{number} {sender}：{text}")
