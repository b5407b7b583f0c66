"""Refusals of the daily commands, and the exception classes with an exit code of their own."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidTask, NotFound, Refusal, StoreUnavailable
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry


class BadUsage(Refusal):
    """Wrong usage, or a confirmation is missing."""


class StoreNotReached(StoreUnavailable, Refusal):
    """The store exists, but cannot be opened for writing."""


class WaitTimedOut(Refusal):
    """A wait has ended before its event, which may still come."""


class AwaitedRunFailed(Refusal):
    """The run that the command waited for did not succeed."""


CATALOGUE: Final = RefusalCatalogue(
    {
        "no_store_yet": RefusalEntry(
            NotFound,
            "There are no tasks yet: {path} does not exist.",
            'Try: horae add "every 10s" --say tick',
            "还没有任务:{path} 不存在。",
            '可以试试:horae add "every 10s" --say tick',
        ),
        "notify_without_destination": RefusalEntry(
            BadUsage,
            "--notify-on and --notify-text belong to --notify.",
            "Name the destinations too, with --notify NAME; `horae notify ls` lists them.",
            "--notify-on 和 --notify-text 须与 --notify 一起使用。",
            "请用 --notify NAME 指定目的地;`horae notify ls` 会列出它们。",
        ),
        "nothing_would_be_kept": RefusalEntry(
            InvalidTask,
            "The store {url} ends with this command: nothing would be kept.",
            "Use a file: --store sqlite:///horae.db",
            "存储 {url} 会随本命令结束而消失:什么都不会保留。",
            "请使用文件:--store sqlite:///horae.db",
        ),
        "no_such_store": RefusalEntry(
            NotFound,
            "There is no store to move from: {path} does not exist.",
            "Check FROM_URL; it names the store that holds the deployment, for example sqlite:////var/lib/horae/horae.db.",
            "没有可供迁移的存储:{path} 不存在。",
            "请检查 FROM_URL;它是保存现有部署的存储,例如 sqlite:////var/lib/horae/horae.db。",
        ),
        "no_such_folder": RefusalEntry(
            NotFound,
            "There is no folder {folder}, so there is no store in it.",
            "Check the path of --store or HORAE_STORE; a folder is not made by itself.",
            "没有目录 {folder},其中也就没有存储。",
            "请检查 --store 或 HORAE_STORE 的路径;目录不会自动创建。",
        ),
        "store_not_reached": RefusalEntry(
            StoreNotReached,
            "{path} cannot be opened for {use}: {reason}.",
            "Every command reads and writes the store: make the file and its folder writable, or use a copy of it.",
            "无法打开 {path} 进行{use_zh}:{reason}。",
            "使用存储需要读写权限:请使该文件及其目录可写,或使用它的副本。",
        ),
        "needs_yes": RefusalEntry(
            BadUsage,
            "{deed}: this needs a confirmation, and there is no terminal for the question.",
            "Confirm it with --yes.",
            "{deed_zh}:需要确认,但没有可以询问的终端。",
            "请加上 --yes。",
        ),
        "declined": RefusalEntry(
            BadUsage,
            "Nothing was done.",
            "Answer with y, or use --yes.",
            "没有执行任何操作。",
            "回答 y 或使用 --yes 才会执行。",
        ),
        "no_such_failure_group": RefusalEntry(
            NotFound,
            "No failed run is in a group '{key}'.",
            "See the groups that there are: horae failures",
            "没有属于分组“{key}”的失败运行。",
            "查看现有的分组:horae failures",
        ),
        "several_failure_groups": RefusalEntry(
            BadUsage,
            "Several groups of failed runs begin with '{key}'.",
            "Type more of the group: horae failures",
            "有多个失败分组以“{key}”开头。",
            "请输入更长的分组标识:horae failures",
        ),
        "dry_run_of_nothing": RefusalEntry(
            BadUsage,
            "--dry-run belongs to --retry GROUP.",
            "Name a group: horae failures --retry GROUP --dry-run",
            "--dry-run 用于 --retry 分组。",
            "请指明分组:horae failures --retry GROUP --dry-run",
        ),
        "no_such_choice": RefusalEntry(
            BadUsage,
            "'{answer}' is not one of the choices. Nothing was done.",
            "Answer with a number from 1 to {most} or with a word: {names}. Without a question: {option} WORD",
            "“{answer}”不在选项之中,没有执行任何操作。",
            "请回答 1 到 {most} 的数字,或这些词之一:{names}。也可以直接使用选项 {option} 词",
        ),
        "unknown_output_field": RefusalEntry(
            BadUsage,
            "There is no field '{name}' in this answer.",
            "The fields are: {allowed}.",
            "结果中没有字段“{name}”。",
            "可用的字段:{allowed}。",
        ),
        "all_or_one": RefusalEntry(
            BadUsage,
            "--all shows the fires of all tasks: it takes no schedule, task, --gap or --fold.",
            "Try: horae next --all --until tomorrow",
            "--all 显示所有任务的触发时间:不能同时给出时间文本、任务、--gap 或 --fold。",
            "例如:horae next --all --until 明天",
        ),
        "system_without_all": RefusalEntry(
            BadUsage,
            "--system shows the fires of system tasks, and needs --all.",
            "Try: horae next --all --system",
            "--system 显示系统任务的触发时间,需要与 --all 同用。",
            "例如:horae next --all --system",
        ),
        "text_or_task": RefusalEntry(
            BadUsage,
            "Say when, or name a task; one of them.",
            'Try: horae next "every weekday at 9am", or horae next --task NAME',
            "请给出时间文本或任务名,二者之一。",
            '例如:horae next "每天早上9点",或 horae next --task 名称',
        ),
        "no_task_named": RefusalEntry(
            BadUsage,
            "Say which task: its name, its id, or a filter.",
            "Give a task, or --all, --label, --state or --text.",
            "请指明任务:名称、标识或筛选条件。",
            "请给出一个任务,或使用 --all、--label、--state、--text。",
        ),
        "task_and_filter": RefusalEntry(
            BadUsage,
            "A task and a filter were given; only one of them can be meant.",
            "Leave the name or the filter out.",
            "同时给出了任务和筛选条件,只能使用其中一种。",
            "请去掉任务名或筛选条件。",
        ),
        "bad_label": RefusalEntry(
            BadUsage,
            "'{value}' is not a label.",
            "Labels are written as name=value.",
            "“{value}”不是标签。",
            "标签的写法是 名称=值。",
        ),
        "bad_json_option": RefusalEntry(
            BadUsage,
            "{option} is no JSON: {problem}.",
            "Give JSON, @file for a file, or - for what comes in.",
            "{option} 不是 JSON:{problem}。",
            "请给出 JSON、@文件,或用 - 表示标准输入。",
        ),
        "bad_header": RefusalEntry(
            BadUsage,
            "'{value}' is not a header.",
            "Headers are written as 'Name: value'; 'Name: @secret:token' takes the value of a secret.",
            "“{value}”不是请求头。",
            "请求头的写法是“名称: 值”;“名称: @secret:token”会使用机密的值。",
        ),
        "no_work": RefusalEntry(
            BadUsage,
            "The task has no target: nothing says what it does.",
            "Choose one of --say, --http, --command, --function, --event, --group or --target.",
            "没有说明任务要做什么。",
            "请选择 --say、--http、--command、--function、--event、--group 或 --target 之一。",
        ),
        "stray_words": RefusalEntry(
            BadUsage,
            "'{words}' was not expected here.",
            "Words after the schedule belong to --http METHOD URL, or follow -- for --command.",
            "这里不应出现“{words}”。",
            "计划之后的内容属于 --http 方法 地址,或放在 -- 之后用于 --command。",
        ),
        "bad_gate": RefusalEntry(
            BadUsage,
            "'{value}' is not a gate.",
            "Write it as --gate 'command check-mail --new', 'http https://example.com/check' or 'function app.has_mail'.",
            "“{value}”不是门控。",
            "请写成 --gate 'command check-mail --new'、'http https://example.com/check' 或 'function app.has_mail'。",
        ),
        "no_method": RefusalEntry(
            BadUsage,
            "'{value}' is not an HTTP method.",
            "The methods are: {allowed}.",
            "“{value}”不是可用的请求方法。",
            "可用的方法:{allowed}。",
        ),
        "no_address": RefusalEntry(
            BadUsage,
            "--http {method} says how to call, but not which address.",
            "Give the address behind the method: --http {method} https://example.org/path",
            "--http {method} 只说明了请求方法,没有说明地址。",
            "请在方法后面给出地址:--http {method} https://example.org/path",
        ),
        "command_not_behind": RefusalEntry(
            BadUsage,
            "--command has no program.",
            "Write the program after two dashes, behind all options: --command -- ls -l",
            "没有说明 --command 要运行哪个程序。",
            "程序写在所有选项之后的两个短横线后面:--command -- ls -l",
        ),
        "only_for_http": RefusalEntry(
            BadUsage,
            "{option} belongs to --http.",
            "Leave it out, or call an address with --http.",
            "{option} 只能与 --http 一起使用。",
            "请去掉它,或使用 --http。",
        ),
        "only_for_group": RefusalEntry(
            BadUsage,
            "{option} belongs to --group.",
            "Leave it out, or name the group whose agent does it with --group.",
            "{option} 只能与 --group 一起使用。",
            "请去掉它,或用 --group 指定执行它的群组。",
        ),
        "nothing_to_change": RefusalEntry(
            BadUsage,
            "No change was given.",
            "Give an option, for example --when 'every day at 9am'.",
            "没有说明要修改什么。",
            "请用选项说明,例如 --when '每天早上9点'。",
        ),
        "nothing_failed": RefusalEntry(
            NotFound,
            "The task '{name}' has no failed run that could be tried again.",
            "Use 'horae run {id}' for one extra run.",
            "任务“{name}”没有可以重试的失败运行。",
            "如需额外运行一次,请使用“horae run {id}”。",
        ),
        "no_runs_yet": RefusalEntry(
            NotFound,
            "The task '{name}' has not run yet.",
            "Start it now with 'horae run {id}'.",
            "任务“{name}”还没有运行过。",
            "可以用“horae run {id}”立即运行。",
        ),
        "input_for_many": RefusalEntry(
            BadUsage,
            "--input and --merge are for the run of one task.",
            "Name one task: horae run TASK --merge JSON.",
            "--input 和 --merge 只用于单个任务的运行。",
            "请指定一个任务:horae run TASK --merge JSON。",
        ),
        "gate_of_one_task": RefusalEntry(
            BadUsage,
            "--gate-only asks the gate of one task, now.",
            "Name one task, without --as-of: horae run TASK --gate-only.",
            "--gate-only 只立即检查单个任务的门控。",
            "请指定一个任务,不带 --as-of:horae run TASK --gate-only。",
        ),
        "gate_not_checked": RefusalEntry(
            AwaitedRunFailed,
            "The gate gave no verdict: {problem}",
            "See what it printed: horae logs {id}",
            "门控没有给出结论：{problem}",
            "查看它的输出：horae logs {id}",
        ),
        "wait_timed_out": RefusalEntry(
            WaitTimedOut,
            "Nothing has ended within {seconds} s; it may still.",
            "Look at it with 'horae why {task}'. Without an engine nothing runs: 'horae up'.",
            "{seconds} 秒内没有结束;之后仍可能结束。",
            "可用“horae why {task}”查看。没有节点就不会运行:“horae up”。",
        ),
        "drain_timed_out": RefusalEntry(
            WaitTimedOut,
            "Still running after {seconds} s: {nodes}; it claims nothing more.",
            "See its load with 'horae nodes'; 'horae nodes drain NODE --undo' reverses the drain.",
            "{seconds} 秒内尚未离开:{nodes};它不再领取任务。",
            "可用“horae nodes”查看其占用;“horae nodes drain 节点 --undo”可撤销。",
        ),
        "nodes_usage": RefusalEntry(
            BadUsage,
            "'{said}' does not say what to do with which node.",
            "horae nodes; horae nodes show NODE; horae nodes drain NODE; horae nodes drain --host NAME; with --undo, or with --wait.",
            "“{said}”没有说明对哪个节点做什么。",
            "horae nodes;horae nodes show 节点;horae nodes drain 节点;horae nodes drain --host 主机名;可加 --undo 或 --wait。",
        ),
        "awaited_run_skipped": RefusalEntry(
            AwaitedRunFailed,
            "The run {id} was skipped. {because}",
            "See why, and what helps: horae why {id}",
            "运行 {id} 被跳过。{because_zh}",
            "查看原因和处理办法：horae why {id}",
        ),
        "awaited_run_failed": RefusalEntry(
            AwaitedRunFailed,
            "The run {id} ended as {state}. {error}",
            "Look at it with 'horae logs {id}', or try it again with 'horae retry {id}'.",
            "运行 {id} 以“{state}”结束。{error_zh}",
            "可用“horae logs {id}”查看,或用“horae retry {id}”重试。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
