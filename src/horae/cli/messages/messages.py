"""Every sentence that the daily commands say, in English and Chinese; refusals have catalogues of their own."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from ...choices import Language
from ...plural import apply_number_agreement
from ...state_names import CHINESE_STATE_NAMES
from ...typography import full_width


class _Pair(NamedTuple):
    en: str
    zh: str


class Words(_Pair):
    """The same in two languages, with `{places}` for facts; a fact may be words in two languages itself."""

    __slots__ = ()

    def __new__(cls, en: str, zh: str) -> Self:
        return super().__new__(cls, en, full_width(zh))

    def in_language(self, language: Language, **facts: object) -> str:
        said = {name: fact.in_language(language) if isinstance(fact, Words) else fact for name, fact in facts.items()}
        return (apply_number_agreement(self.en, said) if language == "en" else self.zh).format(**said)


# --- questions ---------------------------------------------------------------------------------------------------------

YES_OR_NO: Final = Words("{deed}? [y/N] ", "{deed}?[y/N] ")
CHOICE: Final = Words("Which? [{default}] ", "选择哪一个?[{default}] ")
TO_MANY: Final = Words("{deed}: {number} tasks", "{deed}:{number} 个任务")
DONE_TO_MANY: Final = Words("✓ {deed}: {done} of {matched} tasks", "✓ {deed}:{matched} 个任务中的 {done} 个")
REMOVE_ONE: Final = Words("Remove {name} and its history", "删除 {name} 及其历史")

# --- labels in front of a line -----------------------------------------------------------------------------------------

WHEN: Final = Words("When", "时间")
NEXT: Final = Words("Next", "下次")
DOES: Final = Words("Does", "操作")
LATE: Final = Words("Late", "错过")
DECLARED: Final = Words("Code", "声明")
BY_FUNCTION: Final = Words("{fields} (declared by {name})", "{fields}(由 {name} 声明)")
PASSWORD_LEFT_OUT: Final = Words(
    "The commands leave the password of the store out: set PGPASSWORD, PGPASSFILE or MYSQL_PWD, or put its address into HORAE_STORE.",
    "这些命令不含存储的密码:请设置 PGPASSWORD、PGPASSFILE 或 MYSQL_PWD,或把存储的地址放入 HORAE_STORE。",
)
UNDO: Final = Words("Undo", "撤销")
SEE: Final = Words("See", "查看")
STATE: Final = Words("State", "状态")
OWNER: Final = Words("Owner", "所有者")
KEY: Final = Words("Key", "键")
LANE: Final = Words("Lane", "通道")
LABELS: Final = Words("Labels", "标签")
WAITS: Final = Words("Waits", "等待")
RUNS: Final = Words("Runs", "运行")
FIX: Final = Words("Fix", "处理")
GONE: Final = Words("Gone", "减少")
NEW: Final = Words("New", "新增")
AS_IT_RUNS: Final = Words("Exactly as it runs", "实际运行内容")
PAYLOAD: Final = Words("With", "参数")
CREATED: Final = Words("Made", "创建")
PLANNED: Final = Words("Due", "计划")
BEGAN: Final = Words("Began", "开始")
OVER: Final = Words("Ended", "结束")
ERROR: Final = Words("Error", "错误")
RESULT: Final = Words("Result", "结果")
SAID: Final = Words("Said", "输出")

# --- tasks -------------------------------------------------------------------------------------------------------------

NOT_MADE: Final = Words("nothing was made (dry run)", "没有创建(试运行)")
NOT_EDITED: Final = Words("would be edited; nothing was written (dry run)", "将会修改;没有写入(试运行)")
WAS_EDITED: Final = Words("edited (version {version})", "已修改(版本 {version})")
AS_IT_IS: Final = Words("already as it is (version {version})", "已经如此(版本 {version})")
PAUSED_AT_BIRTH: Final = Words("paused; horae resume {name} lets it go on", "已暂停;horae resume {name} 可恢复")
AT_ONCE: Final = Words("at once", "立即")
NOTHING_LEFT: Final = Words("nothing", "没有")
NOTHING_WHILE_PAUSED: Final = Words("nothing while it is paused", "暂停期间不会触发")
IF_RESUMED: Final = Words("nothing while it is paused; resumed now:", "暂停期间不会触发;若现在恢复:")
AFTER_PAUSE: Final = Words("nothing before the pause ends; then:", "暂停结束前不会触发;之后:")
ESTIMATE: Final = Words("counted from the end of each run: an estimate", "从每次运行结束时起算,仅为估计")
POLICIES: Final = Words(
    "{missed} · overlap {overlap} · {retries} · timeout {timeout}",
    "{missed} · 重叠 {overlap} · {retries} · 超时 {timeout}",
)
RETRIES: Final = Words("retries {number}", "重试 {number}")
NO_RETRIES: Final = Words("no retries (at_most_once)", "不重试(at_most_once)")
MORE_POLICIES: Final = Words(
    "give up after {give_up} · {guarantee} · priority {priority} · duration limit {longest}",
    "连续失败 {give_up} 次后放弃 · {guarantee} · 优先级 {priority} · 总时长上限 {longest}",
)
NO_LIMIT: Final = Words("none", "不限")
FOR_EVER: Final = Words("for ever", "不限")
NEVER: Final = Words("never", "永不")
MISSED_MODES: Final[dict[str, Words]] = {
    "skip": Words("skip what is missed", "错过的跳过"),
    "latest": Words("run the latest once", "补跑最近一次"),
    "all": Words("run all that is missed, in order", "按顺序全部补跑"),
    "merge": Words("one run for all that is missed", "合并补跑一次"),
}
OVERLAPS: Final[dict[str, Words]] = {
    "skip": Words("skip", "跳过"),
    "queue": Words("queue", "排队"),
    "queue_all": Words("queue_all", "全部排队"),
    "replace": Words("replace", "替换"),
    "parallel": Words("parallel", "并行"),
}
GUARANTEES: Final[dict[str, Words]] = {
    "at_least_once": Words("at_least_once", "至少一次"),
    "at_most_once": Words("at_most_once", "至多一次"),
}
POLICY_FIELDS: Final[dict[str, Words]] = {
    "give_up_after": Words("give_up_after", "连续失败上限"),
    "guarantee": Words("guarantee", "执行保证"),
    "lane": Words("lane", "通道"),
    "max_duration": Words("max_duration", "总时长上限"),
    "missed": Words("missed", "错过"),
    "overlap": Words("overlap", "重叠"),
    "priority": Words("priority", "优先级"),
    "retries": Words("retries", "重试"),
    "timeout": Words("timeout", "超时"),
}
WITHIN: Final = Words("{mode} within {length}", "{mode}({length} 内)")
FAILING: Final = Words("failing ({number})", "连续失败({number})")
MISSED: Final = Words("{number} missed", "错过 {number} 次")
RUNNING_NOW: Final = Words("running", "运行中")
VERSION: Final = Words(" · version {version}", " · 版本 {version}")
PAUSED_SINCE: Final = Words("paused since {since}{until}{note}", "自 {since} 起暂停{until}{note}")
PAUSED_UNTIL: Final = Words(" until {until}", ",直到 {until}")
SKIPS_LEFT: Final = Words("the next {number} occurrences are skipped", "接下来的 {number} 次将跳过")
SKIPS_ONE: Final = Words("the next occurrence is skipped", "下一次将跳过")
NO_NODE_HAS: Final = Words("waits: no node has {name}", "等待:没有节点提供 {name}")
WAITS_FOR: Final[dict[str, Words]] = {
    "lane": Words("for a seat in the lane {name}", "等待通道 {name} 的空位"),
    "node": Words("for a node that can run {name}", "等待能够运行 {name} 的节点"),
    "function": Words("for a node with the function {name}", "等待提供函数 {name} 的节点"),
    "run": Words("for an earlier run of the task to end", "等待该任务较早的运行结束"),
    "owner": Words("for the rights of its owner or agent ({name})", "等待其所有者或智能体恢复权限({name})"),
    "owner:quota": Words("for room in a quota of its owner", "等待其所有者的配额有余量"),
    "owner:agent_quota": Words("for room in a quota of its agent", "等待其智能体的配额有余量"),
}

# --- what was done to a task -------------------------------------------------------------------------------------------

PAUSE: Final = Words("pause", "暂停")
RESUME: Final = Words("resume", "恢复")
CANCEL: Final = Words("cancel", "取消")
REMOVE: Final = Words("remove", "删除")
RUN: Final = Words("run", "运行")
PAUSED: Final = Words("✓ {name} is paused{until}", "✓ {name} 已暂停{until}")
RESUMED: Final = Words("✓ {name} goes on; {missed}", "✓ {name} 已恢复;{missed}")
NOT_PAUSED: Final = Words("{name} is not paused; nothing to resume", "{name} 没有暂停,无需恢复")
RESUMED_NOTHING: Final = Words("nothing was missed", "没有错过任何一次")
RESUMED_MISSED: Final = Words("{number} missed: {mode}", "错过 {number} 次:{mode}")
CANCELLED: Final = Words("✓ {name} is cancelled; its history stays", "✓ {name} 已取消,历史保留")
REMOVED: Final = Words("✓ {name} is removed", "✓ {name} 已删除")
SKIPPING: Final = Words("✓ {name}: the next {number} occurrences are skipped", "✓ {name} 接下来的 {number} 次将跳过")
SKIPPING_ONE: Final = Words("✓ {name}: the next occurrence is skipped", "✓ {name} 的下一次将跳过")
SKIPPING_NONE: Final = Words("✓ nothing of {name} is skipped", "✓ {name} 不再跳过任何一次")
EDITED: Final = Words("✓ {name} is changed (version {version})", "✓ {name} 已修改(版本 {version})")
UNCHANGED: Final = Words("{name} stays as it is", "{name} 没有变化")
WOULD_EDIT: Final = Words("{name} would change (dry run)", "{name} 将会修改(试运行)")
NOT_RETROACTIVE: Final = Words("nothing fires for the past", "过去的时刻不会补触发")
MISSED_WHILE_PAUSED: Final = Words("Paused {length}, {number} missed.", "已暂停 {length},错过 {number} 次。")

# --- lists -------------------------------------------------------------------------------------------------------------

TASK_COLUMNS: Final[dict[str, Words]] = {
    "owner": Words("OWNER", "所有者"),
    "name": Words("NAME", "名称"),
    "when": Words("WHEN", "时间"),
    "last": Words("LAST", "上次"),
    "next": Words("NEXT", "下次"),
    "state": Words("STATE", "状态"),
    "id": Words("ID", "标识"),
}
RUN_TITLES: Final = Words("STATE|TASK|PLANNED|LATE|TOOK|TRY|RUN|", "状态|任务|计划时间|延迟|用时|尝试|运行|")
LANE_TITLES: Final = Words("LANE|LIMIT|TAKEN", "通道|上限|占用")
NODE_TITLES: Final = Words(
    "NODE|HOST|VERSION|SINCE|RENEWED|LOAD|CLOCK|STATE|FUNCTIONS",
    "节点|主机|版本|加入时间|上次续约|负载|时钟偏差|状态|函数",
)
NODE_STATES: Final[dict[str, Words]] = {
    "live": Words("live", "正常"),
    "draining": Words("draining", "排空中"),
    "silent": Words("silent", "无响应"),
}
RENEWED_AGO: Final = Words("{at}, {ago} ago", "{at},{ago}前")
DRAINING: Final = Words(
    "✓ {id} ({host}) claims nothing more; it goes when it carries nothing",
    "✓ {id}({host})不再领取任务;当前的运行结束后离开",
)
CLAIMS_AGAIN: Final = Words("✓ {id} ({host}) claims again", "✓ {id}({host})恢复领取任务")
NODE_GONE: Final = Words("✓ {id} ({host}) is gone", "✓ {id}({host})已离开")
TASKS_FOOTER: Final = Words(
    "{shown} of {total} tasks{troubles} · times in {zone}", "共 {total} 个任务,显示 {shown} 个{troubles} · 时区 {zone}"
)
SO_MANY: Final[dict[str, Words]] = {
    "failing": Words("{number} failing", "{number} 个连续失败"),
    "failed": Words("{number} failed", "{number} 个已放弃"),
    "paused": Words("{number} paused", "{number} 个暂停"),
    "missed": Words("{number} missed in 24 h", "24 小时内错过 {number} 次"),
    "no_listener": Words("{number} with no listener", "{number} 个没有监听者"),
}
TIMES_IN: Final = Words("times in {zone}", "时区 {zone}")
MORE: Final = Words("more: {command}", "更多:{command}")
NO_TASKS_YET: Final = Words(
    'no tasks yet in {path}; try: horae add "every 10s" --say tick',
    '{path} 中还没有任务;可以试试:horae add "every 10s" --say tick',
)
NONE_FIT: Final = Words("no task fits; horae ls shows all", "没有符合条件的任务;horae ls 显示全部")
FINISHED_HIDDEN: Final = Words(
    "{number} finished tasks are hidden; horae ls --all shows them",
    "{number} 个已结束的任务未显示;horae ls --all 显示全部",
)
ONLY_FINISHED: Final = Words(
    "no unfinished tasks; horae ls --all shows what is finished: {number}",
    "没有未完成的任务;horae ls --all 显示 {number} 个已结束的任务",
)
NO_RUNS: Final = Words("no runs", "没有运行记录")
NO_LINES: Final = Words("it wrote no log lines", "没有日志行")
NO_LINES_OF_FUNCTION: Final = Words(
    "it wrote no log lines: ctx.log(…) and ctx.progress(…) are kept here, print() and logging go to the output of the "
    "node (horae up)",
    "没有日志行:此处保存 ctx.log(…) 和 ctx.progress(…),print() 和 logging 的内容输出到节点(horae up)",
)
EVENT_TITLES: Final = Words("NUMBER|TIME|EVENT|RUN OR TASK|DETAIL", "编号|时间|事件|运行或任务|详情")
NO_EVENTS: Final = Words("no events", "没有事件")
OF_THEM_DRAINING: Final = Words(" ({number} draining)", "({number} 个正在排空)")
AN_ENGINE: Final = Words("an engine is running", "有节点在运行")
ONLY_DRAINING: Final = Words(
    "the only running node is draining and starts nothing new: horae nodes drain {node} --undo",
    "唯一在运行的节点正在排空,不再启动新的运行:horae nodes drain {node} --undo",
)
NO_ENGINE_FILE: Final = Words(
    "no engine is running: horae up FILE.py, with the file that has the function",
    "没有节点在运行:horae up FILE.py,其中是含有该函数的文件",
)
NO_ENGINE: Final = Words("no engine is running: horae up", "没有节点在运行:horae up")

# --- runs --------------------------------------------------------------------------------------------------------------

QUEUED: Final = Words("✓ {name} runs now, once more: {id}", "✓ {name} 将立即额外运行一次:{id}")
QUEUED_LATER: Final = Words(
    "✓ {name} will run once more when a node starts it: {id}", "✓ 有节点启动后,{name} 将额外运行一次:{id}"
)
STOPPED_BEFORE_START: Final = Words("✓ {id} is off the agenda: it had not started", "✓ {id} 已从日程中移除:它尚未启动")
WAITS_TO_START: Final = Words(
    "waiting for {name} to start and to end: {id} (Ctrl-C stops waiting, not the run)",
    "正在等待 {name} 启动并结束:{id}(按 Ctrl-C 只停止等待,不停止运行)",
)
BACKFILLED: Final = Words("✓ {name}: {number} occurrences will run, one by one", "✓ {name}:将逐一补跑 {number} 次")
WOULD_BACKFILL: Final = Words("{name}: {number} occurrences would run (dry run)", "{name}:将补跑 {number} 次(试运行)")
RETRYING: Final = Words("✓ {id} is tried again", "✓ 正在重试 {id}")
STOPPING: Final = Words("✓ {id} was asked to end", "✓ 已要求 {id} 结束")
STOPPED: Final = Words("✓ {id} has ended as {state}", "✓ {id} 已以 {state} 结束")
BACKFILL: Final = Words("Run {number} past occurrences of {name}", "补跑 {name} 过去的 {number} 次")
STARTED: Final = Words("  {id}  started +{late}{node}", "  {id}  已开始 +{late}{node}")
ENDED: Final = Words("{state} in {took}", "{state},用时 {took}")
PROGRESS: Final = Words("progress", "进度")

ORIGINS: Final[dict[str, Words]] = {
    "scheduled": Words("scheduled", "按计划"),
    "manual": Words("manual", "手动"),
    "backfill": Words("backfill", "补跑"),
}
ON_REQUEST: Final = Words("tried again on request", "按请求再次尝试")
ATTEMPT: Final = Words("{state} · attempt {number} · {origin}", "{state} · 第 {number} 次尝试 · {origin}")
ALL_LINES: Final = Words("{number} lines", "{number} 行")
LAST_LINES: Final = Words(
    "the last {shown} of {number} lines; all of them: horae logs {id}",
    "共 {number} 行,显示最后 {shown} 行;全部:horae logs {id}",
)

# --- why ---------------------------------------------------------------------------------------------------------------

OUTAGE: Final = Words("No engine ran {since}–{until} UTC ({how}).", "{since}–{until} UTC 期间没有节点在运行({how})。")
STOPPED_CLEANLY: Final = Words("stopped in good order", "正常停止")
DIED: Final = Words("died", "异常终止")
AT: Final = Words("{name} · {at}", "{name} · {at}")
FIXES: Final[dict[str, Words]] = {
    "run_as_of": Words("run that occurrence after all", "补跑这一次"),
    "make_up": Words("make up for what is missed from now on", "以后错过的自动补跑"),
    "look": Words("see what it said", "查看它的输出"),
    "retry": Words("try it again", "再试一次"),
    "retry_changed": Words("try it again, after that change", "更改之后再试一次"),
    "as_the_error_says": Words("set what was missing", "补上缺少的内容"),
    "payload": Words("give it arguments that fit its function", "改为与其函数相符的参数"),
    "definition": Words("see how it is defined", "查看它的定义"),
    "retry_allowed": Words("try it again, after the node was restarted", "节点重新启动后再试一次"),
    "resume": Words("let it go on", "恢复任务"),
    "declare_again": Words("declare its function again, then start its node", "重新声明其函数,然后启动其节点"),
    "cancel_orphan": Words("end it, where its function is gone for good", "若其函数不再需要,结束该任务"),
    "approve": Words("its owner or an admin lets it run as it is", "由其所有者或管理员批准按现状运行"),
    "restart_agent": Words("its owner or an admin lets the agent go on", "由其所有者或管理员恢复该智能体"),
    "owner": Words("an admin sees why nothing of this owner runs", "管理员可查看该所有者为何不能运行"),
    "new_token": Words("give the agent a token again", "重新为该智能体创建令牌"),
    "up": Words("start an engine", "启动节点"),
    "up_function": Words("start a node that has the function", "启动提供该函数的节点"),
    "up_file": Words("with the file that has the function", "其中是含有该函数的文件"),
    "up_another": Words("start another node", "另启动一个节点"),
    "undrain": Words("let the node start work again", "让该节点继续启动运行"),
    "node_functions": Words("see the functions of a running node", "查看正在运行的节点有哪些函数"),
    "function": Words("call that function instead", "改为调用该函数"),
    "queue": Words("let the next one wait instead", "让下一次等待,而不是跳过"),
    "stop": Words("end the run that is going", "结束正在进行的运行"),
    "longer": Words("give it more time", "给它更多时间"),
    "quota": Words("an admin allows more", "由管理员放宽配额"),
    "running": Words("see what runs now", "查看正在进行的运行"),
    "lane": Words("let more of the lane go on at once", "提高通道的并发上限"),
    "lanes": Words("see who is in its lane", "查看通道的占用"),
    "nodes": Words("see which nodes run, and what they can", "查看正在运行的节点"),
    "next": Words("see when it fires", "查看触发时间"),
    "unskip": Words("skip no more", "不再跳过"),
    "run": Words("run it once now", "立即运行一次"),
}

# --- the whole ---------------------------------------------------------------------------------------------------------

TASKS: Final = Words("Tasks", "任务")
LATENESS: Final = Words("Late", "延迟")
SETTLED: Final = Words("Saved", "记录")
NO_DELAY_MEASURED: Final = Words("no delay measured in the last 5 min", "最近 5 分钟没有测得延迟")
SETTLED_LINE: Final = Words(
    "p50 {p50} · p99 {p99} · max {longest} after the run ended ({number} in 5 min)",
    "运行结束后 p50 {p50} · p99 {p99} · 最长 {longest}(5 分钟内 {number} 次)",
)
LAST_DAY: Final = Words("24 h", "24小时")
DUE: Final = Words("Due", "到期")
NODES: Final = Words("Nodes", "节点")
RUNNING: Final = Words("Running", "运行中")
UPCOMING: Final = Words("Next", "接下来")
NEEDS_YOU: Final = Words("Needs you", "需要处理")
NEEDS_LABEL: Final = Words("Needs", "待处理")
FAILURES: Final = Words("Last failures", "最近的失败")
NOTHING: Final = Words("nothing", "没有")
ON_TIME_LINE: Final = Words("{share} of {number} started within 1 s", "{number} 次中 {share} 在 1 秒内开始")
WAITING_LINE: Final = Words(
    "{overdue} overdue · {parked} waiting for a lane · {stranded} waiting for a node",
    "{overdue} 个逾期 · {parked} 个等待通道 · {stranded} 个等待节点",
)
LANE_SET: Final = Words("✓ at most {limit} runs of {name} at once", "✓ {name} 最多同时运行 {limit} 个")
WATCHING_FROM: Final = Words(
    "watching from event {number} on; Ctrl-C ends it", "从事件 {number} 之后开始;按 Ctrl-C 结束"
)
WATCHING: Final = Words("Ctrl-C or q ends it", "按 Ctrl-C 或 q 结束")
STATES: Final[dict[str, Words]] = {state: Words(state, chinese) for state, chinese in CHINESE_STATE_NAMES.items()}
PAUSE_CAUSES: Final[dict[str, Words]] = {
    "awaiting_approval": Words("needs approval", "待批准"),
    "agent_stopped": Words("agent stopped", "智能体已停止"),
    "owner_revoked": Words("rights revoked", "权限已撤销"),
}
"""Short notes of a list for pauses that nobody asked for; `show` and `why` have the whole sentence."""
BARRED: Final[dict[str, Words]] = {
    "owner_revoked": Words("does not fire: owner revoked or viewer", "不会触发:所有者已停用或为查看者"),
    "quota": Words("does not fire: owner has used up a quota", "不会触发:所有者配额已用完"),
    "agent_quota": Words("does not fire today: quota of its agent", "今日不再触发:智能体配额已用完"),
}
"""Short notes for active tasks of which nothing starts."""
NEEDS: Final[dict[str, Words]] = {
    "failed": Words("has given up", "已放弃"),
    "failing": Words("fails again and again", "连续失败"),
    "orphaned": Words("its code is gone", "代码已不存在"),
    "awaiting_approval": Words("waits for approval", "等待批准"),
    "stranded": Words("due, and no node can run it", "已到期,但没有节点能运行"),
    "overdue": Words("due, and nobody has claimed it", "已到期,但无人领取"),
    "owner_revoked": Words("does not fire: owner revoked or viewer", "不会触发:所有者已停用或为查看者"),
}
