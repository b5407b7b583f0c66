"""Messages of the daily commands in English and Chinese; refusals have their own catalogues."""

from __future__ import annotations

from typing import Final

from ...message import Message
from ...state_names import CHINESE_STATE_NAMES

# --- questions ---------------------------------------------------------------------------------------------------------

YES_OR_NO: Final = Message("{deed}? [y/N] ", "{deed}?[y/N] ")
CHOICE: Final = Message("Which? [{default}] ", "选择哪一个?[{default}] ")
TO_MANY: Final = Message("{deed}: {number} tasks", "{deed}:{number} 个任务")
DONE_TO_MANY: Final = Message("✓ {deed}: {done} of {matched} tasks", "✓ {deed}:{matched} 个任务中的 {done} 个")
REMOVE_ONE: Final = Message("Remove {name} and its history", "删除 {name} 及其历史")

# --- labels in front of a line -----------------------------------------------------------------------------------------

WHEN: Final = Message("When", "时间")
NEXT: Final = Message("Next", "下次")
DOES: Final = Message("Does", "操作")
LATE: Final = Message("Late", "错过")
DECLARED: Final = Message("Code", "声明")
BY_FUNCTION: Final = Message("{fields} (declared by {name})", "{fields}(由 {name} 声明)")
PASSWORD_LEFT_OUT: Final = Message(
    "The commands leave the password of the store out: set PGPASSWORD, PGPASSFILE, MYSQL_PWD or REDISCLI_AUTH, or put its address into HORAE_STORE.",
    "这些命令不含存储的密码:请设置 PGPASSWORD、PGPASSFILE、MYSQL_PWD 或 REDISCLI_AUTH,或把存储的地址放入 HORAE_STORE。",
)
UNDO: Final = Message("Undo", "撤销")
SEE: Final = Message("See", "查看")
STATE: Final = Message("State", "状态")
OWNER: Final = Message("Owner", "所有者")
KEY: Final = Message("Key", "键")
LANE: Final = Message("Lane", "通道")
LABELS: Final = Message("Labels", "标签")
WAITS: Final = Message("Waits", "等待")
RUNS: Final = Message("Runs", "运行")
FIX: Final = Message("Fix", "处理")
GONE: Final = Message("Gone", "减少")
NEW: Final = Message("New", "新增")
AS_IT_RUNS: Final = Message("Exactly as it runs", "实际运行内容")
PAYLOAD: Final = Message("With", "负载")
CREATED: Final = Message("Made", "创建")
IDLE: Final = Message("Idle", "空闲")
USAGE: Final = Message("Usage", "用量")
USAGE_TOKENS: Final = Message("{input} tokens in, {output} out", "输入 {input} token，输出 {output} token")
USAGE_COST_UNKNOWN: Final = Message("cost unknown", "费用未知")
USAGE_COST_AT_LEAST: Final = Message("at least {cost}", "至少 {cost}")
USAGE_UNPRICED: Final = Message("no price for {model}", "{model} 没有价格")
HANDLED: Final = Message("Read", "已读")
HANDLED_NUMBERS: Final = Message("{stream} {numbers}, reader {reader}", "{stream} {numbers},读取者 {reader}")
USAGE_TURNS: Final = Message("{turns} turns", "{turns} 轮")
IDLE_SINCE: Final = Message("since {since}", "自 {since} 起")
PLANNED: Final = Message("Due", "计划")
BEGAN: Final = Message("Began", "开始")
OVER: Final = Message("Ended", "结束")
ERROR: Final = Message("Error", "错误")
GATE_WORDS: Final = Message("Gate", "门控")
RESULT: Final = Message("Result", "结果")
INPUT: Final = Message("Input", "输入")
MERGED_INPUT: Final = Message("Merged input", "合并输入")
SAID: Final = Message("Said", "输出")

# --- tasks -------------------------------------------------------------------------------------------------------------

NOT_MADE: Final = Message("nothing was made (dry run)", "没有创建(试运行)")
NOT_EDITED: Final = Message("would be edited; nothing was written (dry run)", "将会修改;没有写入(试运行)")
WAS_EDITED: Final = Message("edited (version {version})", "已修改(版本 {version})")
AS_IT_IS: Final = Message("already as it is (version {version})", "已经如此(版本 {version})")
PAUSED_AT_CREATION: Final = Message("paused; resume it by horae resume {name}", "已暂停;恢复:horae resume {name}")
AT_ONCE: Final = Message("at once", "立即")
NOTHING_LEFT: Final = Message("nothing", "没有")
NOTHING_WHILE_PAUSED: Final = Message("nothing while it is paused", "暂停期间不会触发")
IF_RESUMED: Final = Message("nothing while it is paused; resumed now:", "暂停期间不会触发;若现在恢复:")
AFTER_PAUSE: Final = Message("nothing before the pause ends; then:", "暂停结束前不会触发;之后:")
ESTIMATE: Final = Message("counted from the end of each run: an estimate", "从每次运行结束时起算,仅为估计")
POLICIES: Final = Message(
    "{missed} · overlap {overlap} · {retries} · timeout {timeout}",
    "{missed} · 重叠 {overlap} · {retries} · 超时 {timeout}",
)
RETRIES: Final = Message("retries {number}", "重试 {number}")
NO_RETRIES: Final = Message("no retries (at_most_once)", "不重试(at_most_once)")
NOTIFIES: Final = Message("messages to {to} on {on}", "向 {to} 发送消息:{on}")
MORE_POLICIES: Final = Message(
    "give up after {give_up} · {guarantee} · priority {priority} · duration limit {longest}",
    "连续失败 {give_up} 次后放弃 · {guarantee} · 优先级 {priority} · 总时长上限 {longest}",
)
RUNS_WHERE: Final = Message("runs on nodes with {labels}", "在带有 {labels} 的节点上运行")
START_WITHIN: Final = Message("starts within {length} or not at all", "{length} 内未开始则跳过")
GATED: Final = Message("gate: {gate}", "门控:{gate}")
NO_LIMIT: Final = Message("none", "不限")
FOR_EVER: Final = Message("for ever", "不限")
NEVER: Final = Message("never", "永不")
MISSED_MODES: Final[dict[str, Message]] = {
    "skip": Message("skip what is missed", "错过的跳过"),
    "latest": Message("run the latest once", "补跑最近一次"),
    "all": Message("run all that is missed, in order", "按顺序全部补跑"),
    "merge": Message("one run for all that is missed", "合并补跑一次"),
}
OVERLAPS: Final[dict[str, Message]] = {
    "skip": Message("skip", "跳过"),
    "queue": Message("queue", "排队"),
    "queue_all": Message("queue_all", "全部排队"),
    "replace": Message("replace", "替换"),
    "parallel": Message("parallel", "并行"),
}
GUARANTEES: Final[dict[str, Message]] = {
    "at_least_once": Message("at_least_once", "至少一次"),
    "at_most_once": Message("at_most_once", "至多一次"),
}
POLICY_FIELDS: Final[dict[str, Message]] = {
    "give_up_after": Message("give_up_after", "连续失败上限"),
    "guarantee": Message("guarantee", "执行保证"),
    "lane": Message("lane", "通道"),
    "max_duration": Message("max_duration", "总时长上限"),
    "missed": Message("missed", "错过"),
    "overlap": Message("overlap", "重叠"),
    "priority": Message("priority", "优先级"),
    "retries": Message("retries", "重试"),
    "start_within": Message("start_within", "最晚开始"),
    "where": Message("where", "运行位置"),
    "timeout": Message("timeout", "超时"),
}
WITHIN: Final = Message("{mode} within {length}", "{mode}（{length}内）")
FAILING: Final = Message("failing ({number})", "连续失败({number})")
MISSED: Final = Message("{number} missed", "错过 {number} 次")
RUNNING_NOW: Final = Message("running", "运行中")
VERSION: Final = Message(" · version {version}", " · 版本 {version}")
PAUSED_SINCE: Final = Message("paused since {since}{until}{note}", "自 {since} 起暂停{until}{note}")
PAUSED_UNTIL: Final = Message(" until {until}", ",直到 {until}")
SKIPS_LEFT: Final = Message("the next {number} occurrences are skipped", "接下来的 {number} 次将跳过")
SKIPS_ONE: Final = Message("the next occurrence is skipped", "下一次将跳过")
NO_NODE_HAS: Final = Message("waits: no node has {name}", "等待:没有节点提供 {name}")
WAITS_FOR: Final[dict[str, Message]] = {
    "lane": Message("for a slot in the lane {name}", "等待通道 {name} 的空位"),
    "node": Message("for a node that can run {name}", "等待能够运行 {name} 的节点"),
    "labels": Message("for a node with the labels {name}", "等待带有标签 {name} 的节点"),
    "function": Message("for a node with the function {name}", "等待提供函数 {name} 的节点"),
    "run": Message("for an earlier run of the task to end", "等待该任务较早的运行结束"),
    "owner": Message("for the rights of its owner or agent ({name})", "等待其所有者或智能体恢复权限({name})"),
    "owner:quota": Message("for room in a quota of its owner", "等待其所有者的配额有余量"),
    "owner:agent_quota": Message("for room in a quota of its agent", "等待其智能体的配额有余量"),
}

# --- what was done to a task -------------------------------------------------------------------------------------------

PAUSE: Final = Message("pause", "暂停")
UNDO_MANY: Final = Message("undo", "撤销")
UNDO_COMMAND: Final = Message("Undo it within 15 minutes: horae undo {id}", "15 分钟内可撤销:horae undo {id}")
UNDO_CANCEL: Final = Message("Undo it within 30 days: horae undo {id}", "30 天内可撤销:horae undo {id}")
RESTORED: Final = Message("✓ {name} is there again, as it was before the cancel", "✓ {name} 已恢复为取消前的状态")
RESUME: Final = Message("resume", "恢复")
CANCEL: Final = Message("cancel", "取消")
REMOVE: Final = Message("remove", "删除")
RUN: Final = Message("run", "运行")
PAUSED: Final = Message("✓ {name} is paused{until}", "✓ {name} 已暂停{until}")
RESUMED: Final = Message("✓ {name} goes on; {missed}", "✓ {name} 已恢复;{missed}")
NOT_PAUSED: Final = Message("{name} is not paused; nothing to resume", "{name} 没有暂停,无需恢复")
RESUMED_NOTHING: Final = Message("nothing was missed", "没有错过任何一次")
RESUMED_MISSED: Final = Message("{number} missed: {mode}", "错过 {number} 次:{mode}")
CANCELLED: Final = Message("✓ {name} is cancelled; its history stays", "✓ {name} 已取消,历史保留")
REMOVED: Final = Message("✓ {name} is removed", "✓ {name} 已删除")
SKIPPING: Final = Message("✓ {name}: the next {number} occurrences are skipped", "✓ {name} 接下来的 {number} 次将跳过")
SKIPPING_ONE: Final = Message("✓ {name}: the next occurrence is skipped", "✓ {name} 的下一次将跳过")
SKIPPING_NONE: Final = Message("✓ nothing of {name} is skipped", "✓ {name} 不再跳过任何一次")
EDITED: Final = Message("✓ {name} is changed (version {version})", "✓ {name} 已修改(版本 {version})")
UNCHANGED: Final = Message("{name} stays as it is", "{name} 没有变化")
WOULD_EDIT: Final = Message("{name} would change (dry run)", "{name} 将会修改(试运行)")
NOT_RETROACTIVE: Final = Message("nothing fires for the past", "过去的时刻不会补触发")
MISSED_WHILE_PAUSED: Final = Message("Paused {length}, {number} missed.", "已暂停 {length},错过 {number} 次。")

# --- lists -------------------------------------------------------------------------------------------------------------

TASK_COLUMNS: Final[dict[str, Message]] = {
    "owner": Message("OWNER", "所有者"),
    "name": Message("NAME", "名称"),
    "when": Message("WHEN", "时间"),
    "last": Message("LAST", "上次"),
    "next": Message("NEXT", "下次"),
    "state": Message("STATE", "状态"),
    "id": Message("ID", "标识"),
}
RUN_TITLES: Final = Message("STATE|TASK|PLANNED|LATE|TOOK|TRY|RUN|", "状态|任务|计划时间|延迟|用时|尝试|运行|")
PLANNED_TITLES: Final = Message("DUE|IN|TASK|", "到期|距今|任务|")
FAILURE_TITLES: Final = Message("RUNS|NEWEST ERROR|TASK|NEWEST|GROUP", "次数|最新错误|任务|最近一次|分组")
LANE_TITLES: Final = Message("LANE|LIMIT|TAKEN|RATE|WAITING|OLDEST|IDLE", "通道|上限|占用|速率|等待|最久等待|空闲")
LANE_USE: Final = Message("{used} of {limit} in use", "已用 {used} / {limit}")
LANE_USE_UNLIMITED: Final = Message("{used} in use, no limit", "已用 {used} / 无上限")
LANE_RATE: Final = Message("Rate", "速率")
LANE_NEXT_START: Final = Message("next start at {at} at the earliest", "下一次启动最早在 {at}")
LANE_RUNS: Final = Message("Runs", "运行")
LANE_OTHERS: Final = Message("{number} more that are not listed", "另有 {number} 个未列出")
LANE_QUEUE: Final = Message("Waits", "等待")
LANE_MORE: Final = Message("more entries wait than are listed", "等待的比列出的多")
LANE_PRIORITY: Final = Message("priority {number}", "优先级 {number}")
NODE_TITLES: Final = Message(
    "NODE|HOST|VERSION|SINCE|RENEWED|LOAD|CLOCK|STATE|LABELS|FUNCTIONS",
    "节点|主机|版本|加入时间|上次续约|占用|时钟偏差|状态|标签|函数",
)
NODE_STATES: Final[dict[str, Message]] = {
    "live": Message("live", "正常"),
    "draining": Message("draining", "排空中"),
    "silent": Message("silent", "无响应"),
}
RENEWED_AGO: Final = Message("{at}, {ago} ago", "{at},{ago}前")
DRAINING: Final = Message(
    "✓ {id} ({host}) claims nothing more; it leaves when its runs have ended",
    "✓ {id}({host})不再领取任务;当前的运行结束后离开",
)
CLAIMS_AGAIN: Final = Message("✓ {id} ({host}) claims again", "✓ {id}({host})恢复领取任务")
NODE_GONE: Final = Message("✓ {id} ({host}) is gone", "✓ {id}({host})已离开")
TASKS_FOOTER: Final = Message(
    "{shown} of {total} tasks{troubles} · times in {zone}", "共 {total} 个任务,显示 {shown} 个{troubles} · 时区 {zone}"
)
SO_MANY: Final[dict[str, Message]] = {
    "failing": Message("{number} failing", "{number} 个连续失败"),
    "failed": Message("{number} failed", "{number} 个已放弃"),
    "paused": Message("{number} paused", "{number} 个暂停"),
    "missed": Message("{number} missed in 24 h", "24 小时内错过 {number} 次"),
    "no_listener": Message("{number} with no listener", "{number} 个没有监听者"),
}
TIMES_IN: Final = Message("times in {zone}", "时区 {zone}")
MORE: Final = Message("more: {command}", "更多:{command}")
NO_TASKS_YET: Final = Message(
    'no tasks yet in {path}; try: horae add "every 10s" --say tick',
    '{path} 中还没有任务;可以试试:horae add "every 10s" --say tick',
)
NONE_FIT: Final = Message("no task fits; horae ls shows all", "没有符合条件的任务;horae ls 显示全部")
FINISHED_HIDDEN: Final = Message(
    "{number} finished tasks are hidden; horae ls --all shows them",
    "{number} 个已结束的任务未显示;horae ls --all 显示全部",
)
ONLY_FINISHED: Final = Message(
    "no unfinished tasks; horae ls --all shows what is finished: {number}",
    "没有未完成的任务;horae ls --all 显示 {number} 个已结束的任务",
)
NO_RUNS: Final = Message("no runs", "没有运行记录")
NOTHING_PLANNED: Final = Message("nothing is planned in this time", "这段时间内没有计划")
PLANNED_FOOTER: Final = Message("{number} runs · times in {zone}", "{number} 次运行 · 时区 {zone}")
PLANNED_MORE: Final = Message(
    "the first {number} runs · times in {zone} · more: -n 200, or --after",
    "前 {number} 次运行 · 时区 {zone} · 更多:-n 200 或 --after",
)
PLANNED_RETRY: Final = Message("attempt {number}", "第 {number} 次尝试")
PLANNED_ESTIMATE: Final = Message("estimate: it starts after the run before", "估计值:在上一次结束之后开始")
MORE_NEEDS: Final = Message(
    "and {number} more tasks: horae ls --state failed; horae ls --query is:failing",
    "另有 {number} 个任务:horae ls --state failed;horae ls --query is:failing",
)
NO_FAILURES: Final = Message("no failed runs", "没有失败的运行")
FAILURES_FOOTER: Final = Message(
    "{shown} of {groups} groups · {total} failed runs · times in {zone}",
    "{groups} 个分组中的 {shown} 个 · {total} 次失败的运行 · 时区 {zone}",
)
FAILURES_CUT: Final = Message(
    "{shown} of {groups} groups · the newest {total} failed runs · times in {zone}",
    "{groups} 个分组中的 {shown} 个 · 最近 {total} 次失败的运行 · 时区 {zone}",
)
RETRY_A_GROUP: Final = Message(
    "Try all runs of a group again: horae failures --retry {key}", "重试整个分组:horae failures --retry {key}"
)
RETRY: Final = Message("Retry", "重试")
RETRY_GROUP: Final = Message(
    "Retry {number} occurrences that failed with: {error}", "重试 {number} 次失败的运行:{error}"
)
RETRIED_GROUP: Final = Message(
    "✓ {done} of {number} occurrences are tried again: {error}", "✓ 正在重试 {number} 次中的 {done} 次:{error}"
)
WOULD_RETRY_GROUP: Final = Message("Would retry {number} occurrences: {error}", "将重试 {number} 次:{error}")
NO_LINES: Final = Message("it wrote no log lines", "没有日志行")
NO_LINES_OF_FUNCTION: Final = Message(
    "it wrote no log lines: ctx.log(…) and ctx.progress(…) are kept here, print() and logging go to the output of the "
    "node (horae up)",
    "没有日志行:此处保存 ctx.log(…) 和 ctx.progress(…),print() 和 logging 的内容输出到节点(horae up)",
)
EVENT_TITLES: Final = Message("NUMBER|TIME|EVENT|RUN OR TASK|DETAIL", "编号|时间|事件|运行或任务|详情")
NO_EVENTS: Final = Message("no events", "没有事件")
OF_THEM_DRAINING: Final = Message(" ({number} draining)", "({number} 个正在排空)")
AN_ENGINE: Final = Message("an engine is running", "有节点在运行")
ONLY_DRAINING: Final = Message(
    "the only running node is draining and starts nothing new: horae nodes drain {node} --undo",
    "唯一在运行的节点正在排空,不再启动新的运行:horae nodes drain {node} --undo",
)
NO_ENGINE_FILE: Final = Message(
    "no engine is running: horae up FILE.py, with the file that has the function",
    "没有节点在运行:horae up FILE.py,其中是含有该函数的文件",
)
NO_ENGINE: Final = Message("no engine is running: horae up", "没有节点在运行:horae up")

# --- runs --------------------------------------------------------------------------------------------------------------

QUEUED: Final = Message("✓ {name} runs now, once more: {id}", "✓ {name} 将立即额外运行一次:{id}")
QUEUED_LATER: Final = Message(
    "✓ {name} will run once more when a node starts it: {id}", "✓ 有节点启动后,{name} 将额外运行一次:{id}"
)
STOPPED_BEFORE_START: Final = Message(
    "✓ {id} is off the agenda: it had not started", "✓ {id} 已从日程中移除:它尚未启动"
)
WAITS_TO_START: Final = Message(
    "waiting for {name} to start and to end: {id} (Ctrl-C stops waiting, not the run)",
    "正在等待 {name} 启动并结束:{id}(按 Ctrl-C 只停止等待,不停止运行)",
)
BACKFILLED: Final = Message("✓ {name}: {number} occurrences will run, one by one", "✓ {name}:将逐一补跑 {number} 次")
WOULD_BACKFILL: Final = Message("{name}: {number} occurrences would run (dry run)", "{name}:将补跑 {number} 次(试运行)")
RETRYING: Final = Message("✓ {id} is tried again", "✓ 正在重试 {id}")
STOPPING: Final = Message("✓ {id} was asked to end", "✓ 已要求 {id} 结束")
STOPPED: Final = Message("✓ {id} has ended as {state}", "✓ {id} 已以 {state} 结束")
BACKFILL: Final = Message("Run {number} past occurrences of {name}", "补跑 {name} 过去的 {number} 次")
STARTED: Final = Message("  {id}  started +{late}{node}", "  {id}  已开始 +{late}{node}")
ENDED: Final = Message("{state} in {took}", "{state},用时 {took}")
PROGRESS: Final = Message("progress", "进度")
GATE_OPEN: Final = Message(
    "the gate is open: the target would be called; nothing was stored", "门控已通过:会调用目标;没有保存任何内容"
)
GATE_CLOSED: Final = Message(
    "the gate is closed: the run would be skipped; nothing was stored", "门控未通过:这次会被跳过;没有保存任何内容"
)
GATE_FIELDS: Final[dict[str, Message]] = {
    "reason": Message("reason", "原因"),
    "data": Message("data", "数据"),
    "state": Message("state", "状态"),
}

ORIGINS: Final[dict[str, Message]] = {
    "scheduled": Message("scheduled", "按计划"),
    "manual": Message("manual", "手动"),
    "backfill": Message("backfill", "补跑"),
    "chain": Message("after another task", "在其他任务之后"),
}
AFTER_RUNS: Final = Message("After", "前置")
ROOT: Final = Message("Root", "链首")
ON_REQUEST: Final = Message("tried again on request", "按请求再次尝试")
ATTEMPT: Final = Message("{state} · attempt {number} · {origin}", "{state} · 第 {number} 次尝试 · {origin}")
ALL_LINES: Final = Message("{number} lines", "{number} 行")
LAST_LINES: Final = Message(
    "the last {shown} of {number} lines; all of them: horae logs {id}",
    "共 {number} 行,显示最后 {shown} 行;全部:horae logs {id}",
)

# --- why ---------------------------------------------------------------------------------------------------------------

OUTAGE: Final = Message("No engine ran {since}–{until} UTC ({how}).", "{since}–{until} UTC 期间没有节点在运行({how})。")
STOPPED_CLEANLY: Final = Message("stopped gracefully", "正常停止")
DIED: Final = Message("died", "异常终止")
AT: Final = Message("{name} · {at}", "{name} · {at}")

# --- the whole ---------------------------------------------------------------------------------------------------------

TASKS: Final = Message("Tasks", "任务")
LATENESS: Final = Message("Late", "延迟")
SETTLED: Final = Message("Saved", "记录")
NO_DELAY_MEASURED: Final = Message("no delay measured in the last 5 min", "最近 5 分钟没有测得延迟")
SETTLED_LINE: Final = Message(
    "p50 {p50} · p99 {p99} · max {longest} after the run ended ({number} in 5 min)",
    "运行结束后 p50 {p50} · p99 {p99} · 最长 {longest}(5 分钟内 {number} 次)",
)
LAST_DAY: Final = Message("24 h", "24小时")
DUE: Final = Message("Due", "到期")
NODES: Final = Message("Nodes", "节点")
RUNNING: Final = Message("Running", "运行中")
UPCOMING: Final = Message("Next", "接下来")
NEEDS_YOU: Final = Message("Needs you", "需要处理")
NEEDS_LABEL: Final = Message("Needs", "待处理")
FAILURES: Final = Message("Last failures", "最近的失败")
NOTHING: Final = Message("nothing", "没有")
ON_TIME_LINE: Final = Message("{share} of {number} started within 1 s", "{number} 次中 {share} 在 1 秒内开始")
WAITING_LINE: Final = Message(
    "{overdue} overdue · {parked} waiting for a lane · {stranded} waiting for a node",
    "{overdue} 个逾期 · {parked} 个等待通道 · {stranded} 个等待节点",
)
LANE_SET: Final = Message("✓ at most {limit} runs of {name} at once", "✓ {name} 最多同时运行 {limit} 个")
LANE_UNLIMITED: Final = Message("✓ {name} has no limit", "✓ {name} 没有上限")
LANE_RATE_SET: Final = Message(
    "✓ at most {rate}: so many starts of {name} within any such period",
    "✓ {name} 在任意一个该时长内的启动次数最多为 {rate}",
)
WATCHING_FROM: Final = Message(
    "watching from event {number} on; Ctrl-C ends it", "从事件 {number} 之后开始;按 Ctrl-C 结束"
)
WATCHING: Final = Message("Ctrl-C or q ends it", "按 Ctrl-C 或 q 结束")
STATES: Final[dict[str, Message]] = {state: Message(state, chinese) for state, chinese in CHINESE_STATE_NAMES.items()}
LINK_ENDS: Final[dict[str, Message]] = {
    "succeeded": Message("succeeded", "成功后"),
    "failed": Message("failed", "失败后"),
    "ended": Message("ended", "结束后"),
}
"""Ends of a predecessor that start a task, in the tree of a chain."""
LINK_MODES: Final[dict[str, Message]] = {"any": Message(" (any)", "(任一)"), "all": Message(" (all)", "(全部)")}
PAUSE_CAUSES: Final[dict[str, Message]] = {
    "awaiting_approval": Message("needs approval", "待批准"),
    "agent_stopped": Message("agent stopped", "智能体已停止"),
    "owner_revoked": Message("rights revoked", "权限已撤销"),
    "owner_moving": Message("owner moves", "所有者迁移中"),
}
"""Short notes in a list for pauses that no user has requested; `show` and `why` have the whole sentence."""
BLOCKED_NOTES: Final[dict[str, Message]] = {
    "owner_revoked": Message("does not fire: owner revoked or viewer", "不会触发:所有者已停用或为查看者"),
    "quota": Message("does not fire: owner has used up a quota", "不会触发:所有者配额已用完"),
    "agent_quota": Message("does not fire today: quota of its agent", "今日不再触发:智能体配额已用完"),
}
"""Short notes for active tasks of blocked owners, which do not start."""
NEEDS: Final[dict[str, Message]] = {
    "failed": Message("has given up", "已放弃"),
    "failing": Message("fails again and again", "连续失败"),
    "orphaned": Message("its code is gone", "代码已不存在"),
    "awaiting_approval": Message("waits for approval", "等待批准"),
    "predecessor_deleted": Message("paused: a task that it ran after was deleted", "已暂停:其前置任务已被删除"),
    "gate_failed": Message("paused: its gate failed again and again", "已暂停:其门控连续失败"),
    "stranded": Message("due, and no node can run it", "已到期,但没有节点能运行"),
    "overdue": Message("due, and not claimed by any node", "已到期,但没有节点领取"),
    "owner_revoked": Message("does not fire: owner revoked or viewer", "不会触发:所有者已停用或为查看者"),
}
