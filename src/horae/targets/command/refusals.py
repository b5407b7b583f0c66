"""Refusals of command specs and of the operator's settings for commands: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidTask
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "command_spec": RefusalEntry(
            InvalidTask,
            "A command cannot be described by '{value}'.",
            'Give an object such as {{"argv": ["/usr/bin/backup", "--all"]}}.',
            "“{value}”不能描述一个命令。",
            '请给出对象,例如 {{"argv": ["/usr/bin/backup", "--all"]}}。',
        ),
        "command_unknown_key": RefusalEntry(
            InvalidTask,
            "A command has no '{name}'.",
            "It has: {allowed}.",
            "命令没有“{name}”这一项。",
            "可用的项:{allowed}。",
        ),
        "command_shell": RefusalEntry(
            InvalidTask,
            "'{value}' is one text, and there is no shell here that would take it apart.",
            'Give the program and each argument as an item of a list: ["/usr/bin/backup", "--all"].',
            "“{value}”是一整段文本,而这里没有 shell 来拆分它。",
            '请把程序和每个参数分别作为列表的一项:["/usr/bin/backup", "--all"]。',
        ),
        "command_argv": RefusalEntry(
            InvalidTask,
            "These arguments cannot be given to a program: {value}.",
            "Give a list of 1 to {most} texts without NUL, {bytes} bytes in all; the first is the program, "
            "by its name or its absolute path.",
            "无法把这些参数交给程序:{value}。",
            "请给出 1 到 {most} 个不含 NUL 的文本组成的列表,总共不超过 {bytes} 字节;第一个是程序名或其绝对路径。",
        ),
        "command_secret_in_argv": RefusalEntry(
            InvalidTask,
            "A secret cannot be an argument: every user of the machine can read the arguments of a process.",
            "Give it in environment or stdin.",
            "密钥不能作为参数:机器上的所有人都能看到进程的参数。",
            "请通过 environment 或 stdin 传递。",
        ),
        "command_none_allowed": RefusalEntry(
            InvalidTask,
            "No commands are allowed here.",
            "The operator allows it where the node runs: allow = {toml} under [targets.command] in horae.toml, or "
            "HORAE_COMMAND_ALLOW={variable} in the environment; then restart the node.",
            "这里不允许运行任何命令。",
            "由运维人员在节点所在处允许:在 horae.toml 的 [targets.command] 下写 allow = {toml},或设置环境变量 "
            "HORAE_COMMAND_ALLOW={variable},然后重新启动节点。",
        ),
        "command_not_allowed": RefusalEntry(
            InvalidTask,
            "The program '{program}' is not allowed here.",
            "The operator adds it where the node runs: to allow under [targets.command] in horae.toml, or to "
            "HORAE_COMMAND_ALLOW in the environment (programs with commas between them); then restart the node.",
            "这里不允许运行程序“{program}”。",
            "运维人员可以在节点所在处把它加入 horae.toml 中 [targets.command] 下的 allow,或加入环境变量 "
            "HORAE_COMMAND_ALLOW(多个程序用逗号分隔),然后重新启动节点。",
        ),
        "command_directory": RefusalEntry(
            InvalidTask,
            "A command cannot run in '{value}'.",
            "Leave the directory out for a private one, or name one inside the operator's: directory under [targets.command] in horae.toml, or HORAE_COMMAND_DIRECTORY.",
            "命令不能在“{value}”中运行。",
            "省略目录则使用私有目录,或给出运维人员所设目录之内的目录:horae.toml 中 [targets.command] 下的 directory,或 HORAE_COMMAND_DIRECTORY。",
        ),
        "command_variable": RefusalEntry(
            InvalidTask,
            "The environment cannot have '{name}' with this value.",
            'Names are letters, digits and _; a value is a text without NUL, or {{"secret": "name"}}.',
            "环境变量“{name}”不能取这个值。",
            '名称由字母、数字和下划线组成;值是不含 NUL 的文本,或 {{"secret": "名称"}}。',
        ),
        "command_variable_reserved": RefusalEntry(
            InvalidTask,
            "A task cannot set '{name}': it is Horae's own, or makes programs load other code.",
            "Choose another name, or have the operator list it in variables under [targets.command] in horae.toml, or in HORAE_COMMAND_VARIABLES (never PATH and HORAE_…).",
            "任务不能设置“{name}”:它由 Horae 使用,或会让程序加载其他代码。",
            "请换一个名称,或由运维人员将其列入 horae.toml 中 [targets.command] 下的 variables 或 HORAE_COMMAND_VARIABLES(PATH 和 HORAE_… 除外)。",
        ),
        "command_stdin": RefusalEntry(
            InvalidTask,
            "This cannot be given to a program as its standard input: {value}.",
            'Give null, a text, JSON, or "payload" for the task\'s payload; at most {most} bytes.',
            "无法把它作为程序的标准输入:{value}。",
            '请给出 null、文本、JSON,或用 "payload" 表示任务的负载;最多 {most} 字节。',
        ),
        "command_number": RefusalEntry(
            InvalidTask,
            "{name} cannot be '{value}' for a command.",
            "Give a whole number from {least} to {most}.",
            "命令的 {name} 不能是“{value}”。",
            "请给出 {least} 到 {most} 之间的整数。",
        ),
        "command_success": RefusalEntry(
            InvalidTask,
            "'{value}' does not say which exit codes are a success.",
            "Give a list of numbers from 0 to 255, for example [0, 1].",
            "“{value}”没有说明哪些退出码表示成功。",
            "请给出 0 到 255 之间数字的列表,例如 [0, 1]。",
        ),
        "command_setting": RefusalEntry(
            InvalidTask,
            "The setting targets.command.{name} cannot be '{value}'.",
            "Wanted: {wanted}.",
            "设置 targets.command.{name} 不能是“{value}”。",
            "应为:{wanted}。",
        ),
        "command_platform": RefusalEntry(
            InvalidTask,
            "Commands cannot be run on this system.",
            "They need the process groups of Linux, macOS or another Unix.",
            "此系统上无法运行命令。",
            "它们需要 Linux、macOS 或其他 Unix 的进程组。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
