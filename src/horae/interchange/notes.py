"""Catalogue of import notes: a closed list of codes, each with an English and a Chinese sentence."""

from __future__ import annotations

from typing import Final

from ..errors import Refusal
from ..plural import apply_number_agreement
from ..schedule.compat import Note
from ..typography import full_width, truncate

_MAX_FACT_LENGTH: Final = 120

# code: (English, Chinese). Facts in braces are filled in by `note`.
CATALOGUE: Final[dict[str, tuple[str, str]]] = {
    # --- the zone of a file --------------------------------------------------------------------------------------
    "import_zone_seen": (
        "No zone was given: the next runs in the file show {zone}. --zone says another one.",
        "没有给出时区:文件中的下次运行时间表明是 {zone}。可用 --zone 指定其他时区。",
    ),
    "import_zone_agrees": (
        "No zone was given: {zone} is used, and the next runs in the file agree with it.",
        "没有给出时区:使用 {zone},文件中的下次运行时间与之相符。",
    ),
    "import_zone_assumed": (
        "No zone was given: {zone} is used, because {why}. --zone says another one.",
        "没有给出时区:使用 {zone},因为{why}。可用 --zone 指定其他时区。",
    ),
    "import_zone_differs": (
        "The next runs in the file do not fit {zone}; they fit {fits}.",
        "文件中的下次运行时间与 {zone} 不符;与之相符的是 {fits}。",
    ),
    # --- crontab -------------------------------------------------------------------------------------------------
    "cron_shell": (
        "This is shell text and is given to {shell}: the operator has to allow that program for command targets.",
        "这是 shell 文本,交给 {shell} 执行:运维人员须允许命令目标使用该程序。",
    ),
    "cron_user": (
        "cron ran this as the user {user}; here it runs as the user of the Horae process.",
        "cron 以用户 {user} 执行它;在这里以 Horae 进程的用户执行。",
    ),
    "cron_mailto": (
        "cron mailed the output to {address}; here it is kept with each run, and nothing is mailed.",
        "cron 把输出寄给 {address};在这里输出随每次运行保存,不寄邮件。",
    ),
    "cron_tz": (
        "TZ={value} is given to the command alone, as cron does; the times are in {zone}. CRON_TZ would change them.",
        "TZ={value} 只交给命令,与 cron 相同;时间按 {zone} 理解。要改变时间请用 CRON_TZ。",
    ),
    "cron_secret": (
        "The value of {names} looks like a secret and would be stored in plain text: store it with 'horae secret set NAME'.",
        "{names} 的值像是机密,会以明文保存:请用“horae secret set 名称”保存它。",
    ),
    "cron_reserved": (
        "No task may set {names} for a program, or the directory outside of the settings; it runs without them.",
        "任务不能为程序设置 {names},也不能使用设置之外的目录;执行时没有它们。",
    ),
    "cron_manners": (
        "As in cron, runs do not wait for each other, are not tried again, never time out, and what was missed is skipped.",
        "与 cron 相同:运行之间互不等待,失败不重试,永不超时,错过的不补。",
    ),
    "cron_surroundings": (
        "Commands start in the directory of the settings, not in the home directory; their output is kept, not mailed.",
        "命令在设置所指定的目录中启动,而不是主目录;其输出会保存,不寄邮件。",
    ),
    "cron_reboot": (
        "@reboot is no time: it runs when the machine starts. Use the service manager of the system for it.",
        "@reboot 不是时间:它在机器启动时执行。请改用系统的服务管理器。",
    ),
    "cron_not_a_line": (
        "This is neither a comment, nor NAME=value, nor {wanted} and a command.",
        "这既不是注释,也不是 NAME=value,也不是 {wanted} 加命令。",
    ),
    "cron_no_command": ("There is a schedule, but no command.", "有计划,但没有命令。"),
    "cron_bad_variable": (
        "'{name}' cannot be the name of an environment variable; the line was ignored.",
        "“{name}”不能作为环境变量名;已略过此行。",
    ),
    # --- NanoClaw ------------------------------------------------------------------------------------------------
    "nanoclaw_next_run": (
        "Its next run there was {instant}; here the first one is an interval after the import.",
        "它在那边的下次执行是 {instant};在这里首次执行在导入之后一个间隔。",
    ),
    "nanoclaw_no_next_run": (
        "It had no next run there, so it is taken over as paused.",
        "它在那边没有下次执行,因此以暂停状态接管。",
    ),
    "nanoclaw_status": (
        "Its status there was '{status}', with which nothing ran; it is taken over as paused.",
        "它在那边的状态是“{status}”,不会执行;以暂停状态接管。",
    ),
    "nanoclaw_context": (
        "'{mode}' is no context mode; it runs isolated, as it did there.",
        "“{mode}”不是上下文模式;与那边一样以 isolated 执行。",
    ),
    "nanoclaw_no_group": (
        "The group '{folder}' is not registered in this file: register it before the task runs.",
        "此文件中没有注册群组“{folder}”:请在任务执行之前注册它。",
    ),
    "nanoclaw_script": (
        "Its script is a gate: {shell} runs it on the node, not in a container, and the operator has to allow that program.",
        "它的脚本成为门控:由节点上的 {shell} 执行,而不是在容器中;运维人员须允许该程序。",
    ),
    "nanoclaw_completed": (
        "{count} completed tasks are not taken over; their runs are in the history.",
        "{count} 个已完成的任务不接管;它们的运行保留在历史中。",
    ),
    "nanoclaw_old_runs": (
        "Of {count} logged runs the newest {most} are taken over.",
        "共有 {count} 条运行日志,接管最新的 {most} 条。",
    ),
    "nanoclaw_bad_runs": (
        "{count} logged runs could not be read and are left out.",
        "{count} 条运行日志无法读取,已略去。",
    ),
    "nanoclaw_groups_elsewhere": (
        "This file holds no groups; older versions keep them in data/registered_groups.json.",
        "此文件没有群组;旧版本把它们放在 data/registered_groups.json。",
    ),
    "nanoclaw_chat_unreachable": (
        "No channel of Horae reaches the chat {chat}; give the group another one: horae group set {folder} --chat CHANNEL:ID",
        "Horae 没有能到达聊天 {chat} 的渠道;请为群组指定另一个聊天:horae group set {folder} --chat 渠道:编号",
    ),
    "nanoclaw_other_chat": (
        "It is registered here with the chat {chat}, which stays.",
        "它在这里已注册,聊天为 {chat},保持不变。",
    ),
    "nanoclaw_chat_in_use": (
        "The stream {stream} has messages of its own already, so those of the file are not taken over.",
        "消息流 {stream} 已有自己的消息,因此不接管文件中的消息。",
    ),
    "nanoclaw_old_messages": (
        "The newest {most} messages are taken over; older ones are not: {count}.",
        "接管最新的 {most} 条消息;{count} 条更早的消息不接管。",
    ),
    "nanoclaw_bad_messages": (
        "{count} messages without text, id or time, or too long, are left out.",
        "{count} 条没有文本、标识或时间或过长的消息已略去。",
    ),
    "nanoclaw_session": (
        "Its session is not taken over at a server: import at the store to keep it.",
        "通过服务器导入时不接管其会话:请在存储处导入以保留。",
    ),
    "nanoclaw_timeout": (
        "Its time limit {value} is not one that an agent can have here; it gets the default.",
        "它的时限 {value} 在这里不可用;改用默认值。",
    ),
    "nanoclaw_mount": (
        "The mount {mount} cannot be one here and is left out.",
        "挂载 {mount} 在这里不可用,已略去。",
    ),
    "nanoclaw_config": (
        "These settings of its container have no counterpart here: {keys}.",
        "其容器的以下设置在这里没有对应:{keys}。",
    ),
    "nanoclaw_files": (
        "The files of the groups are not copied: import at the store, with a directory for agents in [targets.agent] of horae.toml.",
        "群组的文件未复制:请在存储处导入,并在 horae.toml 的 [targets.agent] 中指定智能体的目录 directory。",
    ),
    "nanoclaw_list_copied": (
        "The list {source} is copied to {target}.",
        "列表 {source} 已复制到 {target}。",
    ),
    "nanoclaw_list_kept": (
        "The list {source} is not copied: {target} exists already.",
        "列表 {source} 未复制:{target} 已存在。",
    ),
    "nanoclaw_list_bad": (
        "The list {source} cannot be used and is not copied: {problem}",
        "列表 {source} 无法使用,未复制:{problem}",
    ),
    # --- OpenClaw ------------------------------------------------------------------------------------------------
    "openclaw_ignored": (
        "These fields have no counterpart here and were ignored: {keys}.",
        "以下字段在这里没有对应,已略过:{keys}。",
    ),
    "openclaw_system_event": (
        "There it was an event for the main session and its heartbeat; here it is a prompt of its own.",
        "它在那边是发给主会话及其心跳的事件;在这里是一次独立的提示。",
    ),
    "openclaw_session": (
        "The session '{session}' is not taken over; it runs in the session of its group.",
        "会话“{session}”不会接管;它在其群组的会话中执行。",
    ),
    "openclaw_delivery": (
        "The delivery settings ({mode}) are kept in the payload; the target decides whether to use them.",
        "以 {mode} 投递的设置保留在负载中,由执行者决定是否使用。",
    ),
    "openclaw_shell": (
        "The command is started through {shell}: the operator has to allow that program for command targets.",
        "该命令通过 {shell} 启动:运维人员须允许命令目标使用该程序。",
    ),
    "openclaw_directory": (
        "It starts in {directory}: the operator's directory for command targets has to contain that.",
        "它在 {directory} 中启动:运维人员为命令目标设置的目录须包含它。",
    ),
    "openclaw_event_schedule": (
        "A schedule of the kind '{kind}' waits for an event, not for a time; there is none such here.",
        "“{kind}”类型的计划等待的是事件而不是时间;这里没有这种计划。",
    ),
    "openclaw_trigger": (
        "Its condition trigger is a gate: {program} runs it, with no tool of OpenClaw but exec; the operator has to allow it.",
        "它的条件触发器成为门控:由 {program} 执行,OpenClaw 的工具中只有 exec 可用;运维人员须允许该程序。",
    ),
    "openclaw_trigger_once": (
        "There it was switched off after its first success; here the gate stays closed then, and the task stays active.",
        "它在那边首次成功后即停用;在这里此后门控保持关闭,任务仍为活动状态。",
    ),
    "openclaw_trigger_tools": (
        "Its condition trigger needs '{tool}' of OpenClaw, which is not available elsewhere. Without it, it would run every time.",
        "它的条件触发器需要 OpenClaw 的“{tool}”,在别处不可用。没有它,每次都会执行。",
    ),
    "openclaw_script": (
        "Its script needs the tools of OpenClaw's own agent, and runs nowhere else.",
        "它的脚本需要 OpenClaw 自身智能体的工具,在别处无法执行。",
    ),
    "openclaw_completed": (
        "{count} jobs that ran once and are over are not taken over; their last run is in the history.",
        "{count} 个已执行完的一次性任务不接管;它们最后一次运行保留在历史中。",
    ),
}


def note(code: str, **facts: object) -> Note:
    """Build a note; a fact that is a pair is (English, Chinese)."""
    in_english, in_chinese = CATALOGUE[code]
    english, chinese = (
        sentence.format_map(
            {name: _sanitize_fact(str(_fact_in_language(fact, column))) for name, fact in facts.items()}
        )
        for column, sentence in enumerate((apply_number_agreement(in_english, facts), full_width(in_chinese)))
    )
    return Note(code, english, chinese)


def _fact_in_language(fact: object, column: int) -> object:
    return fact[column] if isinstance(fact, tuple) else fact


def refusal_note(refusal: Refusal) -> Note:
    """Convert a refusal to a note: why the item was left out, and what would work."""
    english, chinese = (refusal.in_language(language) for language in ("en", "zh"))
    return Note(refusal.code, f"{english.message} {english.hint}".strip(), f"{chinese.message} {chinese.hint}".strip())


def _sanitize_fact(fact: str) -> str:
    """Shorten a fact and replace control characters: untrusted input must not flood the output or move a terminal's cursor."""
    start = fact[: _MAX_FACT_LENGTH + 1]
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in start)
    return truncate(printable, _MAX_FACT_LENGTH)
