"""Words of the fields of a task: labels, help and names of choices, by field name. What is missing here is shown by its
name, with the description of its shape."""

from __future__ import annotations

from typing import Final

from ...message import Message

LABELS: Final[dict[str, Message]] = {
    "name": Message("Name", "名称"),
    "when": Message("When", "时间"),
    "after": Message("Runs after", "在这些任务之后运行"),
    "mode": Message("Of several tasks", "有多个任务时"),
    "zone": Message("Time zone", "时区"),
    "lane": Message("Lane", "通道"),
    "labels": Message("Labels", "标签"),
    "key": Message("Key", "键"),
    "owner": Message("Owner", "所有者"),
    "payload": Message("Payload", "负载"),
    "policies.missed": Message("If it could not run in time", "未能按时运行时"),
    "policies.missed.mode": Message("Missed occurrences", "错过的"),
    "policies.missed.within": Message("Only if late by less than", "仅当延迟小于"),
    "policies.missed.limit": Message("Catch up at most", "最多补跑"),
    "policies.overlap": Message("If it is still running", "上次仍在运行时"),
    "policies.retry": Message("Retries", "重试"),
    "policies.retry.attempts": Message("Attempts in all", "总尝试次数"),
    "policies.retry.backoff": Message("First wait", "首次等待"),
    "policies.retry.factor": Message("Each wait is longer by", "等待倍数"),
    "policies.retry.max": Message("Longest wait", "最长等待"),
    "policies.retry.jitter": Message("Spread of waits", "等待的随机性"),
    "policies.retry.superseded_by_next": Message(
        "The next occurrence ends a waiting retry", "下一次到期时结束等待中的重试"
    ),
    "policies.give_up_after": Message("Give up after failures", "连续失败多少次后放弃"),
    "policies.notify_after": Message("Notify after failures", "连续失败多少次后通知"),
    "policies.notify": Message("Messages to people", "向人发送消息"),
    "policies.notify.to": Message("Destinations", "目的地"),
    "policies.notify.text": Message("Text of the message", "消息正文"),
    "policies.notify.on": Message("Message on", "发送消息的情形"),
    "policies.gate": Message("Gate: a check before each run", "门控：每次运行前的检查"),
    "policies.gate.target": Message("Gate in full", "门控（完整）"),
    "policies.gate.timeout": Message("Gate: longest check", "门控：最长检查时间"),
    "policies.gate.state": Message("The gate keeps a state", "门控保存状态"),
    "policies.timeout": Message("Timeout", "超时"),
    "policies.max_duration": Message("Longest duration", "最长时长"),
    "policies.start_within": Message("Start within", "最晚开始"),
    "policies.where": Message("Labels of the node", "节点标签"),
    "policies.guarantee": Message("After a crash", "崩溃之后"),
    "policies.priority": Message("Priority", "优先级"),
    "policies.lanes": Message("Further lanes", "其他通道"),
    "past": Message("Past of the task", "任务的过去"),
    "past.created": Message("Created", "创建于"),
    "past.counted": Message("Occurrences counted", "已计次数"),
    "past.last_end": Message("Last end", "上次结束"),
    "past.missed_since": Message("Missed since", "错过自"),
    "target.kind": Message("What", "做什么"),
    "target.http.url": Message("URL", "网址"),
    "target.http.method": Message("Method", "方法"),
    "target.http.headers": Message("Headers", "请求头"),
    "target.http.body": Message("Body", "请求体"),
    "target.http.success": Message("Success", "成功的状态码"),
    "target.http.redirects": Message("Redirects", "重定向次数"),
    "target.http.sign": Message("Sign with", "签名用的机密"),
    "target.http.preset": Message("Preset", "预设"),
    "target.http.answer_limit": Message("Answer limit", "响应上限"),
    "target.agent.group": Message("Group", "群组"),
    "target.agent.prompt": Message("Prompt", "提示"),
    "target.agent.context_mode": Message("Session", "会话"),
    "target.agent.script": Message("Script before it", "之前的脚本"),
    "target.agent.budget": Message("Budget for each day", "每日预算"),
    "target.agent.budget.tokens": Message("Tokens", "token 数"),
    "target.agent.budget.cost": Message("Cost", "费用"),
    "target.agent.budget.runs": Message("Runs", "运行次数"),
    "target.agent.chat": Message("Imported chat", "导入的聊天"),
    "target.station.station": Message("Station", "站点"),
    "target.station.command": Message("Command", "命令"),
    "target.station.title": Message("Title", "标题"),
    "target.station.plan": Message("Plan", "计划编号"),
    "target.station.frames": Message("Frames", "帧"),
    "target.event.say": Message("Text", "文字"),
    "target.event.topic": Message("Topic", "主题"),
    "target.function.name": Message("Function", "函数"),
    "target.command.argv": Message("Program and arguments", "程序与参数"),
    "target.command.directory": Message("Directory", "目录"),
    "target.command.environment": Message("Environment", "环境变量"),
    "target.command.stdin": Message("Standard input", "标准输入"),
    "target.command.output": Message("Kept output", "保留的输出"),
    "target.command.limits": Message("Limits", "限制"),
    "target.command.limits.memory": Message("Memory", "内存"),
    "target.command.limits.cpu": Message("Processor time", "处理器时间"),
    "target.command.limits.files": Message("Open files", "打开的文件"),
    "target.command.limits.processes": Message("Processes", "进程"),
    "target.command.limits.file_size": Message("File size", "文件大小"),
    "target.command.success": Message("Success", "成功的退出码"),
    "target.other.kind": Message("Kind", "种类"),
    "target.other.spec": Message("Specification", "规格"),
}

HELP: Final[dict[str, Message]] = {
    "name": Message("", ""),
    "after": Message("One task per line: backup, backup:failed", "每行一个任务:backup、backup:failed"),
    "mode": Message(
        "any: after each of them, once for each chain; all: when all have ended so.",
        "any:每个任务之后,每条链一次;all:全部都这样结束之后。",
    ),
    "lane": Message("At most so many runs of a lane go on at once.", "同一通道同时进行的运行数量有上限。"),
    "labels": Message("One label per line: name: value", "每行一个标签:名称: 值"),
    "key": Message(
        "Your own name for it: used again, it edits the same task.", "自定义的键:再次使用时会编辑同一个任务。"
    ),
    "owner": Message("The owner of the task; you by default.", "任务属于谁;默认为您自己。"),
    "payload": Message(
        'What the target gets, as JSON. {{"secret": "name"}} stands for a secret, {{horae.planned}} for the planned time.',
        '交给目标的内容,JSON 格式。`{{"secret": "name"}}` 代表机密,`{{horae.planned}}` 代表计划时间。',
    ),
    "policies.missed.within": Message("A duration such as 1h, or never.", "时长,例如 1h;或 never 表示不限。"),
    "policies.missed.limit": Message("Occurrences.", "次。"),
    "policies.retry.attempts": Message(
        "The first one included; never: without end.", "包括第一次;never 表示不限次数。"
    ),
    "policies.retry.backoff": Message("A duration such as 10s.", "时长,例如 10s。"),
    "policies.retry.factor": Message("2 doubles the wait each time.", "2 表示每次等待加倍。"),
    "policies.retry.max": Message("A duration such as 1h.", "时长,例如 1h。"),
    "policies.retry.superseded_by_next": Message(
        "No: a waiting retry counts as running, and the choice above decides about the next occurrence.",
        "否:等待中的重试视为正在运行,由上面的选择决定下一次。",
    ),
    "policies.give_up_after": Message("Failed occurrences in a row; or never.", "连续失败的次数;或 never。"),
    "policies.notify_after": Message("Failed occurrences in a row; or never.", "连续失败的次数;或 never。"),
    "policies.notify.to": Message("Names, one per line (Settings, Messages).", "名称，每行一个（设置，消息）。"),
    "policies.notify.text": Message(
        "May contain {{horae.result}}, {{horae.planned_local}}, {{horae.count}}; empty: the result or the error.",
        "可含 {{horae.result}}、{{horae.planned_local}}、{{horae.count}};留空:结果或错误。",
    ),
    "policies.notify.on": Message(
        "failed, recovered, overdue, succeeded, separated by commas.",
        "failed、recovered、overdue、succeeded，以逗号分隔。",
    ),
    "policies.gate.target": Message(
        'JSON with its kind, such as "http", and the fields of that target.',
        '带 kind(例如 "http")以及该目标各字段的 JSON。',
    ),
    "policies.gate.timeout": Message("Longest time for the check, such as 30s.", "检查的最长时间,例如 30s。"),
    "policies.gate.state": Message(
        "What the check returns as state is given to its next call.", "检查返回的 state 会交给它的下一次调用。"
    ),
    "policies.timeout": Message("Longest time without an answer, such as 5m.", "没有响应的最长时间,例如 5m。"),
    "policies.max_duration": Message("Longest time in all, such as 1h; or never.", "总计最长时间,例如 1h;或 never。"),
    "policies.start_within": Message(
        "Skipped if it has not started that long after it was due, such as 10m; or never.",
        "到期后超过这一时间仍未开始就跳过,例如 10m;或 never。",
    ),
    "policies.where": Message(
        "One label per line that a node must have: name: value", "每行一个节点必须带有的标签:名称: 值"
    ),
    "policies.lanes": Message(
        "Names, one per line: a run starts when all of them have room.", "名称,每行一个;所有通道都有空位时才开始运行。"
    ),
    "policies.priority": Message("From -100 to 100; higher comes first.", "-100 到 100;数值大的先运行。"),
    "past.created": Message("An instant with offset: the schedule counts from it.", "带时差的时刻:计划从这一刻算起。"),
    "past.counted": Message("How many occurrences count against the repeat.", "已计入重复次数的次数。"),
    "past.last_end": Message("When the last occurrence ended.", "上一次结束的时刻。"),
    "past.missed_since": Message(
        "Occurrences from then on were missed; the choice above decides about them.",
        "从那时起的都已错过;由上面的选择决定如何处理。",
    ),
    "target.agent.group": Message(
        "Folder of a chat group; its owner owns the task.", "聊天群组的文件夹；任务归该群组所有。"
    ),
    "target.agent.prompt": Message("What the agent is to do.", "智能体要做的事。"),
    "target.agent.context_mode": Message(
        "The session that it continues: none, that of the chat, or that of the task's last run.",
        "继续哪个会话：不使用、聊天的会话，或任务上次运行的会话。",
    ),
    "target.agent.script": Message(
        "Shell script whose last line of output decides whether the agent starts.",
        "Shell 脚本，其输出的最后一行决定是否启动智能体。",
    ),
    "target.agent.budget": Message(
        "Of this task, besides the budget of its group.", "仅限此任务；群组的预算同时生效。"
    ),
    "target.agent.budget.tokens": Message("Of all its runs of a day.", "一天内所有运行合计。"),
    "target.agent.budget.cost": Message("US dollars, such as 2.5.", "美元，例如 2.5。"),
    "target.agent.budget.runs": Message("Of a day.", "一天内。"),
    "target.agent.chat": Message(
        "Chat in the system that it was imported from; the chat of the group counts.",
        "来源系统中的聊天；以群组的聊天为准。",
    ),
    "target.station.station": Message("Name of a station of the owner.", "所有者的站点名称。"),
    "target.station.command": Message("Name of the API, or topic of a publication.", "API 名称，或发布的主题。"),
    "target.station.title": Message("Of the results; blank: the name of the task.", "结果的标题；留空则用任务名称。"),
    "target.station.plan": Message("Id of a plan, sixteen hexadecimal digits.", "计划的编号，十六位十六进制数字。"),
    "target.station.frames": Message(
        "Pairs of a frame type and Base64, in place of the payload, as JSON.",
        "帧类型与 Base64 的对，代替负载，JSON 格式。",
    ),
    "target.event.say": Message(
        "Listeners get this text when it is due; it is also in the run's log.",
        "到期时监听者会收到这段文字;它也会写入运行日志。",
    ),
    "target.event.topic": Message("Listeners choose events by their topic.", "监听者按主题选择事件。"),
    "target.http.url": Message("https:// or http://", "https:// 或 http://"),
    "target.http.headers": Message(
        "One per line: Name: value. @secret:name stands for a secret.", "每行一个:名称: 值。@secret:name 代表机密。"
    ),
    "target.http.body": Message(
        "JSON instead of the payload; null: no body.", "用 JSON 代替负载;null 表示没有请求体。"
    ),
    "target.http.success": Message("Status codes and ranges: 2xx, 404, 300-302.", "状态码和范围:2xx、404、300-302。"),
    "target.http.redirects": Message("How many are followed.", "最多跟随几次。"),
    "target.http.sign": Message("The request is signed with this secret.", "用此机密为请求签名。"),
    "target.http.preset": Message("Builds the request for an agent orchestrator.", "为智能体编排器构造请求。"),
    "target.http.answer_limit": Message("Bytes of the answer that are read.", "读取的响应字节数。"),
    "target.function.name": Message("Name under which it is registered.", "注册时的名称。"),
    "target.command.argv": Message(
        "The program, then one argument per line; no shell is involved.", "先写程序,然后每行一个参数;不经过 shell。"
    ),
    "target.command.directory": Message("Inside the folder that the operator has set.", "位于管理员设置的文件夹之内。"),
    "target.command.environment": Message(
        "One per line: NAME: value. @secret:name stands for a secret.", "每行一个:名称: 值。@secret:name 代表机密。"
    ),
    "target.command.stdin": Message('JSON; "payload" stands for the payload.', 'JSON;"payload" 代表负载。'),
    "target.command.output": Message("Bytes of its output.", "输出的字节数。"),
    "target.command.limits.memory": Message("Bytes.", "字节。"),
    "target.command.limits.cpu": Message("Seconds.", "秒。"),
    "target.command.limits.files": Message("", ""),
    "target.command.limits.processes": Message("Of the node's user.", "节点所用用户的全部进程。"),
    "target.command.limits.file_size": Message("Bytes.", "字节。"),
    "target.command.success": Message("Exit codes that count as success.", "视为成功的退出码。"),
    "target.other.kind": Message("The kind of a plug-in.", "插件提供的种类。"),
    "target.other.spec": Message("Its fields as JSON.", "其字段,JSON 格式。"),
}

CHOICES: Final[dict[str, Message]] = {
    "never": Message("never", "不限"),
    "target.agent.context_mode.isolated": Message("none", "不使用"),
    "target.agent.context_mode.group": Message("that of the chat", "聊天的会话"),
    "target.agent.context_mode.series": Message("that of the task's last run", "任务上次运行的会话"),
    "mode.any": Message("after each of them", "任一任务之后"),
    "mode.all": Message("when all have ended so", "全部这样结束之后"),
    "policies.missed.mode.skip": Message("skip them", "跳过"),
    "policies.missed.mode.latest": Message("run the latest once", "只补跑最近一次"),
    "policies.missed.mode.all": Message("run all in order", "按顺序全部补跑"),
    "policies.missed.mode.merge": Message("run once for all of them", "合并为一次运行"),
    "policies.overlap.skip": Message("skip the new one", "跳过新的一次"),
    "policies.overlap.queue": Message("let one wait", "只让一次等待"),
    "policies.overlap.queue_all": Message("let all wait", "全部等待"),
    "policies.overlap.replace": Message("cancel the old one", "取消旧的一次"),
    "policies.overlap.parallel": Message("run both", "同时运行"),
    "policies.retry.jitter.full": Message("random", "随机"),
    "policies.retry.jitter.none": Message("exact", "精确"),
    "policies.retry.superseded_by_next.true": Message("yes", "是"),
    "policies.retry.superseded_by_next.false": Message("no", "否"),
    "policies.guarantee.at_least_once": Message("run it again (at least once)", "再运行一次(至少一次)"),
    "policies.guarantee.at_most_once": Message("leave it (at most once)", "不再运行(至多一次)"),
}
