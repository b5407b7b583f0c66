"""Catalogue of refusals for task requests: code, message and hint in English and Chinese; builds `Refusal` errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from ..errors import Conflict, InvalidTask, NotAllowed, NotFound, Refusal, Sentence, UnknownStore
from ..plural import apply_number_agreement
from ..truncation import truncate
from ..typography import full_width
from .state_names import state_name

_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
_MAX_FACT: Final = 80
_MAX_OWN_FACT: Final = 600
_OWN_FACTS: Final = frozenset(
    {
        "allowed",
        "command",
        "deed",
        "deed_zh",
        "file",
        "folder",
        "found",
        "names",
        "networks",
        "path",
        "problem",
        "toml",
    }
)
"""Facts that Horae itself writes, such as the allowed values, the candidates or the problem in a file. They get a longer
limit, because a truncated one would lack the part that the user needs."""
TARGET_NOT_SUPPORTED: Final = "target_not_carried"
_STATE_FACT: Final = "state"
"""Fact that holds a state: its value in English, its translation in Chinese."""


class RefusalEntry(NamedTuple):
    """Catalogue entry of one refusal: its exception class, message and hint. Each package has a catalogue of its own."""

    kind: type[Refusal]
    message: str
    hint: str
    message_zh: str
    hint_zh: str


CATALOGUE: Final[dict[str, RefusalEntry]] = {
    "record_changed": RefusalEntry(
        Conflict,
        "Another request changed the {kind} '{key}' at the same moment, so nothing was written.",
        "Read it again, then repeat the request if it still applies.",
        "{kind}“{key}”同时被另一个请求更改,因此没有写入任何内容。",
        "请重新读取;如仍需要,再次提交请求。",
    ),
    "unknown_policy": RefusalEntry(
        InvalidTask,
        "There is no policy called '{name}'.",
        "The policies are missed, overlap, retry, give_up_after, timeout, max_duration, guarantee, priority, notify_after.",
        "没有名为“{name}”的策略。",
        "可用的策略:missed、overlap、retry、give_up_after、timeout、max_duration、guarantee、priority、notify_after。",
    ),
    "bad_policy": RefusalEntry(
        InvalidTask,
        "{name} cannot be '{value}'.",
        "Give a {wanted} value.",
        "{name} 不能是“{value}”。",
        "请给出 {wanted} 类型的值。",
    ),
    "bad_choice": RefusalEntry(
        InvalidTask,
        "'{value}' is not a choice for {name}.",
        "Choose one of: {allowed}.",
        "“{value}”不是 {name} 的可选值。",
        "请选择其中之一:{allowed}。",
    ),
    "bad_number": RefusalEntry(
        InvalidTask,
        "{name} cannot be '{value}'.",
        "Give a whole number from {least} to {most}.",
        "{name} 不能是“{value}”。",
        "请给出 {least} 到 {most} 之间的整数。",
    ),
    "bad_duration": RefusalEntry(
        InvalidTask,
        "{name} cannot be '{value}'.",
        "Give a duration from {least} to {most}, for example '90s' or '2m'.",
        "{name} 不能是“{value}”。",
        "请给出 {least} 到 {most} 之间的时长,例如“90s”或“2m”。",
    ),
    "bad_text": RefusalEntry(
        InvalidTask,
        "{name} cannot be '{value}'.",
        "Give a text of 1 to {most} printable characters that is not blank.",
        "{name} 不能是“{value}”。",
        "请给出 1 到 {most} 个可打印字符的文本,不能全是空白。",
    ),
    "payload_not_named": RefusalEntry(
        InvalidTask,
        "The arguments of {function} have names, and {value} gives none.",
        "Give a dictionary of arguments by name, for example {example}.",
        "{function} 的参数需要名称,而 {value} 没有给出名称。",
        "请给出以参数名为键的字典,例如 {example}。",
    ),
    "too_many_arguments": RefusalEntry(
        InvalidTask,
        "{function} takes {most} arguments, and {count} were given.",
        "Its arguments are: {known}.",
        "{function} 有 {most} 个参数,却给出了 {count} 个。",
        "它的参数:{known}。",
    ),
    "unknown_argument": RefusalEntry(
        InvalidTask,
        "{function} has no argument '{argument}'.",
        "Its arguments are: {known}.",
        "{function} 没有参数“{argument}”。",
        "它的参数:{known}。",
    ),
    "bad_item": RefusalEntry(
        InvalidTask,
        "{value} does not say which function runs when.",
        "Give (function, when) or (function, when, arguments), for example (greet, 'in 1h').",
        "{value} 没有说明何时运行哪个函数。",
        "请给出 (函数, 时间) 或 (函数, 时间, 参数),例如 (greet, 'in 1h')。",
    ),
    "invisible_character": RefusalEntry(
        InvalidTask,
        "{name} contains the invisible character {character} at place {place}.",
        "Remove it. Names take no zero-width characters, fillers, tags or variation selectors, also not those of an emoji.",
        "{name} 的第 {place} 个字符是不可见字符 {character}。",
        "请删除该字符。名称不能含有零宽字符、填充字符、标签字符或变体选择符，表情符号中的也不行。",
    ),
    "bad_labels": RefusalEntry(
        InvalidTask,
        "These labels cannot be kept: {value}.",
        "Labels are at most {most} pairs of short texts, for example {{'source': 'import'}}.",
        "无法保存这些标签:{value}。",
        "标签最多 {most} 对短文本,例如 {{'source': 'import'}}。",
    ),
    "bad_payload": RefusalEntry(
        InvalidTask,
        "The payload is not JSON: {value}.",
        "Use texts, numbers, booleans, None, lists and dictionaries with text keys.",
        "负载不是 JSON:{value}。",
        "请只使用文本、数字、布尔值、None、列表和以文本为键的字典。",
    ),
    "payload_too_large": RefusalEntry(
        InvalidTask,
        "The payload has {size} bytes; at most {most} are kept.",
        "Store the data elsewhere and pass a reference to it.",
        "负载有 {size} 字节;最多保存 {most} 字节。",
        "请把数据存放在别处,只传递引用。",
    ),
    "never_fires": RefusalEntry(
        InvalidTask,
        "Created now, this schedule has no occurrence left.",
        'Check its start, end and repeat; `horae explain "every day at 09:00"` shows what a schedule means.',
        "以现在创建,该计划不会再有任何一次触发。",
        '请检查它的起止时间和重复次数;`horae explain "每天9点"` 会说明计划的含义。',
    ),
    "bad_when": RefusalEntry(
        InvalidTask,
        "A task cannot be scheduled at a '{value}'.",
        "Give text such as 'every 5m', an aware datetime, or a schedule value.",
        "无法按“{value}”安排任务。",
        "请给出“every 5m”这样的文本、带时区的 datetime 或计划值。",
    ),
    "naive_instant": RefusalEntry(
        InvalidTask,
        "'{value}' has no zone, so it could be many instants.",
        "Give an aware datetime, or text with an offset such as 2026-03-01T15:00:00+08:00.",
        "“{value}”没有时区,可能指多个时刻。",
        "请给出带时区的 datetime,或带偏移的文本,例如 2026-03-01T15:00:00+08:00。",
    ),
    "not_past": RefusalEntry(
        InvalidTask,
        "{value} is no instant of a run that is over.",
        "Give instants with a zone, from 1970 on, that are not still to come; check the clocks of both machines.",
        "{value} 不可能是已结束运行的时刻。",
        "请给出带时区、1970 年以后且不晚于现在的时刻;并检查两台机器的时钟。",
    ),
    "not_allowed": RefusalEntry(
        NotAllowed,
        "This token may not do that: it lacks '{scope}'.",
        "{remedy}",
        "此令牌无权执行该操作:缺少“{scope}”。",
        "{remedy_zh}",
    ),
    "foreign_owner": RefusalEntry(
        NotFound,
        "There is no owner '{owner}' that you may act for.",
        "Leave the owner out to act for yourself.",
        "没有你可以代表的所有者“{owner}”。",
        "省略所有者即代表你自己。",
    ),
    "unknown_store": RefusalEntry(
        UnknownStore,
        "'{url}' does not name a store.",
        "Use 'sqlite:///file.db', 'postgresql://user@host/database', 'mysql://user@host/database' or 'memory://'.",
        "“{url}”不是可用的存储地址。",
        "请使用“sqlite:///文件.db”、“postgresql://用户@主机/数据库”、“mysql://用户@主机/数据库”或“memory://”。",
    ),
    "unknown_function": RefusalEntry(
        InvalidTask,
        "'{name}' is not a task function of this app.",
        "Decorate it with @app.task, or pass the decorated function itself.",
        "“{name}”不是此应用的任务函数。",
        "请用 @app.task 装饰它,或直接传入已装饰的函数。",
    ),
    "being_loaded": RefusalEntry(
        Conflict,
        "This module is only loaded to find one function in it, and must not open its app by doing so.",
        "Put what starts the app under: if __name__ == '__main__'.",
        "加载此模块只是为了找到其中的一个函数,加载时不能打开应用。",
        "请把启动应用的代码放在 if __name__ == '__main__' 之下。",
    ),
    "not_open": RefusalEntry(
        Conflict,
        "The app is not open.",
        "Use it inside 'async with app:'.",
        "应用尚未打开。",
        "请在“async with app:”之内使用它。",
    ),
    "already_open": RefusalEntry(
        Conflict,
        "The app is open already.",
        "Configure it before 'async with app:'.",
        "应用已经打开。",
        "请在“async with app:”之前进行配置。",
    ),
    "no_such_task": RefusalEntry(
        NotFound,
        "There is no task '{id}'.",
        "Check the name, or give at least the first 12 characters of the id; it may have been deleted.",
        "没有任务“{id}”。",
        "请检查名称,或至少给出标识的前 12 个字符;它可能已被删除。",
    ),
    "no_such_run": RefusalEntry(
        NotFound,
        "There is no run '{id}'.",
        "Give at least the first 12 characters of the id; a requested run appears when a node starts it, and old runs are removed by retention.",
        "没有运行“{id}”。",
        "请至少给出标识的前 12 个字符;已请求的运行在节点启动后才会出现,旧的运行会按保留策略删除。",
    ),
    "run_waiting": RefusalEntry(
        NotFound,
        "The run '{id}' of the task '{name}' has not started: it waits for a node since {since}.",
        "See what is missing with 'horae why {task}'; take it back with 'horae stop {id}'.",
        "任务“{name}”的运行“{id}”尚未启动:自 {since} 起等待节点。",
        "可用“horae why {task}”查看缺少什么;可用“horae stop {id}”撤回。",
    ),
    "task_cancelled": RefusalEntry(
        Conflict,
        "The task is cancelled, and that is final.",
        "Make a new task, with another key where this one has a key.",
        "任务已取消,且不可恢复。",
        "请新建任务;若此任务有键,请换一个键。",
    ),
    "key_of_cancelled": RefusalEntry(
        Conflict,
        "The key '{key}' belongs to the task '{name}' ({id}), which was cancelled, and that is final.",
        "Use another key, such as '{other}'; or remove that task first with 'horae rm {id}' (DELETE /v1/tasks/{id}).",
        "键“{key}”属于已取消的任务“{name}”({id}),且不可恢复。",
        "请换一个键,例如“{other}”;或先用“horae rm {id}”(DELETE /v1/tasks/{id})删除该任务。",
    ),
    "task_over": RefusalEntry(
        Conflict,
        "The task is {state}: nothing of it is left to {wish}.",
        "Run it once more with 'horae run {id}', or give it a new schedule, such as: horae edit {id} --when 'every day at 09:00'",
        "任务处于“{state}”状态,没有可以{wish_zh}的内容。",
        "可用“horae run {id}”再运行一次,或设置新的计划,例如:horae edit {id} --when '每天9点'",
    ),
    "already_running": RefusalEntry(
        Conflict,
        "The task is running, and its overlap policy does not start a second run.",
        "Wait for it, cancel it, or choose another overlap policy.",
        "任务正在运行,其重叠策略不允许再启动一次。",
        "请等待它结束、取消它,或选择其他重叠策略。",
    ),
    "run_requested": RefusalEntry(
        Conflict,
        "A run of the task was requested already and waits to start since {since}: {id}.",
        "It starts when a node has room for it: 'horae why {task}'. Take it back with 'horae stop {id}', or choose another overlap policy.",
        "该任务已有一次运行在等待启动(自 {since} 起):{id}。",
        "节点有空位时它会启动:“horae why {task}”。可用“horae stop {id}”撤回,或选择其他重叠策略。",
    ),
    "still_running": RefusalEntry(
        Conflict,
        "The task is still running, so its history cannot be removed yet.",
        "Cancel it first; delete it when its run has ended.",
        "任务仍在运行,暂时无法删除其历史。",
        "请先取消它,待运行结束后再删除。",
    ),
    "run_over": RefusalEntry(
        Conflict,
        "The run has already ended as {state}.",
        "An end is final. For another run use 'horae run {task}'.",
        "该运行已以 {state} 结束。",
        "结束状态不可更改;如需再次运行请用“horae run {task}”。",
    ),
    "run_going": RefusalEntry(
        Conflict,
        "The run '{id}' is still going.",
        "Wait for it, or cancel it first.",
        "运行“{id}”仍在进行。",
        "请等待它结束,或先取消它。",
    ),
    "task_paused": RefusalEntry(
        Conflict,
        "The task is paused.",
        "Resume it first with 'horae resume {id}', or run it once with 'horae run {id}'.",
        "任务已暂停。",
        "请先用“horae resume {id}”恢复它,或用“horae run {id}”额外运行一次。",
    ),
    "nothing_to_retry": RefusalEntry(
        Conflict,
        "The run ended as {state}, so there is nothing to try again.",
        "For one extra run: horae run {task}; for the same instant once more: horae run {task} --as-of {planned}",
        "该运行以 {state} 结束,没有可以重试的内容。",
        "额外运行一次:horae run {task};同一时刻再运行一次:horae run {task} --as-of {planned}",
    ),
    "bad_answer": RefusalEntry(
        NotFound,
        "There is no run '{id}' that waits for this answer.",
        "Check the address and the token that came with the call; the run may have timed out.",
        "没有等待此答复的运行“{id}”。",
        "请检查随调用给出的地址和令牌;该运行可能已经超时。",
    ),
    "stale_version": RefusalEntry(
        Conflict,
        "The task has changed since: it is at version {version} now, not {expected}.",
        "Look at it again, and repeat the edit.",
        "任务在此期间已被修改:当前版本为 {version},而不是 {expected}。",
        "请重新查看后再次修改。",
    ),
    "bad_page": RefusalEntry(
        InvalidTask,
        "'{value}' cannot be asked for: {wanted}.",
        "Ask for 1 to {most} at a time, and go on with the 'after' of the page before.",
        "无法按“{value}”查询:{wanted}。",
        "每次请求 1 到 {most} 条,并用上一页的 after 继续。",
    ),
    "ambiguous_name": RefusalEntry(
        Conflict,
        "'{name}' could be several tasks: {found}.",
        "Give the id of one of them, or enough of it.",
        "“{name}”可能指多个任务:{found}。",
        "请给出其中一个的标识,或足够长的一部分。",
    ),
    "ambiguous_id": RefusalEntry(
        Conflict,
        "Several ids begin with '{id}': {found}.",
        "Give more of the id.",
        "有多个标识以“{id}”开头:{found}。",
        "请给出更完整的标识。",
    ),
    "no_such_node": RefusalEntry(
        NotFound,
        "There is no node '{id}'.",
        "See which there are with 'horae nodes'; it may have gone already.",
        "没有节点“{id}”。",
        "可用“horae nodes”查看;它可能已经离开。",
    ),
    "several_nodes": RefusalEntry(
        Conflict,
        "'{name}' could be several nodes: {found}.",
        "Give more of the id, or --host for all nodes of one machine.",
        "“{name}”可能指多个节点:{found}。",
        "请给出更完整的标识,或用 --host 指定一台机器上的所有节点。",
    ),
    "unknown_target": RefusalEntry(
        InvalidTask,
        "There is no kind of target called '{kind}'.",
        "The kinds are: {kinds}.",
        "没有名为“{kind}”的目标类型。",
        "可用的类型:{kinds}。",
    ),
    "unknown_field": RefusalEntry(
        InvalidTask,
        "'{name}' is not a field here.",
        "The fields are: {allowed}.",
        "这里没有字段“{name}”。",
        "可用的字段:{allowed}。",
    ),
    "missing_field": RefusalEntry(
        InvalidTask,
        "The field '{name}' is missing.",
        "Add '{name}' with a value, and ask again.",
        "缺少字段“{name}”。",
        "请加上带有值的“{name}”,然后重试。",
    ),
    "two_targets": RefusalEntry(
        InvalidTask,
        "A task has one target, not {names}.",
        "Leave all but one of them out.",
        "一个任务只有一个目标,不能同时有 {names}。",
        "请只保留其中一个。",
    ),
    TARGET_NOT_SUPPORTED: RefusalEntry(
        InvalidTask,
        "Nothing here can run a target of the kind '{kind}', so the task would wait for ever.",
        "Use one of the kinds {kinds}; or install a package that offers '{kind}' (its entry point in the group horae.targets) on a "
        "node and here.",
        "这里没有可以执行“{kind}”类目标的节点,任务会永远等待。",
        "请使用以下类型之一:{kinds};或在节点和本机安装提供“{kind}”的软件包(其入口点属于 horae.targets 组)。",
    ),
    "bad_settings": RefusalEntry(
        InvalidTask,
        "The settings in {file} cannot be used: {problem}.",
        "Correct the file; 'horae config' shows every setting.",
        "无法使用 {file} 中的设置:{problem}。",
        "请修正该文件;“horae config”会列出所有设置。",
    ),
    "unclear_moment": RefusalEntry(
        InvalidTask,
        "'{value}' is not an instant that can be queried.",
        "Say it like 2026-11-15T02:00Z, '2026-11-15 02:00', 2026-11-15, 02:00, now, yesterday, 'today at 9am', 'last Monday 18:00', or '5m ago'.",
        "“{value}”不是可以查询的时刻。",
        "可以写成 2026-11-15T02:00Z、“2026-11-15 02:00”、2026-11-15、02:00、现在、昨天、“今天早上9点”、“上周一18:00”,或“5分钟前”。",
    ),
    "missing_part": RefusalEntry(
        InvalidTask,
        "This needs the library '{library}', which is not installed.",
        "Install it with: pip install 'horae[{extra}]'",
        "此功能需要未安装的库“{library}”。",
        "请安装:pip install 'horae[{extra}]'",
    ),
    "backfill_from_end": RefusalEntry(
        Conflict,
        "A schedule that counts from the end of the last run has no past instants to backfill.",
        "Use 'run now' instead.",
        "从上次运行结束起计时的计划没有可以回填的历史时刻。",
        "请改用“立即运行”。",
    ),
    "backfill_range": RefusalEntry(
        InvalidTask,
        "There is nothing to backfill between {first} and {last}.",
        "Give a range in the past, at most {most} occurrences long.",
        "{first} 与 {last} 之间没有可回填的内容。",
        "请给出过去的区间,最多 {most} 次。",
    ),
    "backfill_going": RefusalEntry(
        Conflict,
        "Something between {first} and {last} is being backfilled already.",
        "Wait until that has ended, or give a range that does not touch it.",
        "{first} 与 {last} 之间已有内容正在回填。",
        "请等它结束,或给出不与之相交的区间。",
    ),
    "until_past": RefusalEntry(
        InvalidTask,
        "A pause until {until} would already be over.",
        "Give a later instant, or none for a pause without end.",
        "暂停到 {until} 已经过去。",
        "请给出更晚的时刻,或不给时刻表示无限期暂停。",
    ),
    "deadline_past": RefusalEntry(
        InvalidTask,
        "More time until {until} would be none: that is over already.",
        "Give a later instant, or answer with a result or an error.",
        "延长到 {until} 没有意义:该时刻已经过去。",
        "请给出更晚的时刻,或以结果或错误作答。",
    ),
    "key_taken": RefusalEntry(
        Conflict,
        "Another task of this owner already has the key '{key}'.",
        "Choose another key, or edit that task.",
        "该所有者的另一个任务已使用键“{key}”。",
        "请换一个键,或修改那个任务。",
    ),
    "function_taken": RefusalEntry(
        InvalidTask,
        "Another function is already registered as '{name}'.",
        "Choose another name: stored tasks find their function by it.",
        "已有另一个函数注册为“{name}”。",
        "请换一个名字:已保存的任务靠名字找到它们的函数。",
    ),
    "declared_twice": RefusalEntry(
        InvalidTask,
        "'{name}' is declared twice, and not alike: {diff}.",
        "Declare it once, or give one of them another name.",
        "“{name}”被声明了两次,且不一致:{diff}。",
        "请只声明一次,或为其中一个换个名字。",
    ),
    "bad_function": RefusalEntry(
        InvalidTask,
        "'{name}' cannot be run as a function.",
        "Register a function or an async function; generators and classes are not run.",
        "“{name}”不能作为函数运行。",
        "请注册普通函数或异步函数;生成器和类不会被运行。",
    ),
    "bad_parameter": RefusalEntry(
        InvalidTask,
        "No payload can give '{argument}' to {function}: its type is {wanted}.",
        "Give it a default, or a type that JSON can say: numbers, texts, dates, lists, enums, dataclasses.",
        "任何负载都无法为 {function} 提供“{argument}”:它的类型是 {wanted}。",
        "请给它默认值,或使用 JSON 能表达的类型:数字、文本、日期、列表、枚举、数据类。",
    ),
    "not_importable": RefusalEntry(
        InvalidTask,
        "'{name}' cannot run in a process of its own, because no other process could find it.",
        "Move it to the top level of a module or script: not a lambda, a method, or a function inside a function.",
        "“{name}”不能在单独的进程中运行,因为其他进程无法找到它。",
        "请把它放到模块或脚本的顶层:不能是 lambda、方法或函数内部的函数。",
    ),
    "bad_arguments": RefusalEntry(
        InvalidTask,
        "The argument '{argument}' of {function} cannot be {came}.",
        "Wanted: {wanted}.",
        "{function} 的参数“{argument}”不能是 {came}。",
        "应为:{wanted}。",
    ),
}


NUMBER_OR_NEVER: Final = RefusalEntry(
    InvalidTask,
    "{name} cannot be '{value}'.",
    "Give a whole number from {least} to {most}, or never: without an end.",
    "{name} 不能是“{value}”。",
    "请给出 {least} 到 {most} 之间的整数,或 never(没有上限)。",
)
"""`bad_number` for fields that also take `never`."""


def refuse(code: str, **facts: object) -> Refusal:
    """Return the refusal for `code`; the caller raises it."""
    return build_refusal(code, CATALOGUE[code], facts)


def build_refusal(code: str, entry: RefusalEntry, facts: Mapping[str, object]) -> Refusal:
    """Return the refusal of a catalogue entry, with these facts in its sentences."""
    rendered = {
        name: _sanitize(_render_fact(fact), _MAX_OWN_FACT if _is_own_fact(name, entry) else _MAX_FACT)
        for name, fact in facts.items()
    }
    chinese = rendered | {name: state_name(rendered[name], "zh") for name in rendered if name == _STATE_FACT}
    return entry.kind(
        code,
        {
            "en": Sentence(
                *(apply_number_agreement(each, facts).format_map(rendered) for each in (entry.message, entry.hint))
            ),
            "zh": Sentence(
                full_width(entry.message_zh).format_map(chinese), full_width(entry.hint_zh).format_map(chinese)
            ),
        },
        facts=facts,
    )


def _is_own_fact(name: str, entry: RefusalEntry) -> bool:
    """Return whether Horae wrote the fact: one that only a hint uses says what would work, and is useless when truncated."""
    return name in _OWN_FACTS or f"{{{name}}}" not in entry.message


def _render_fact(fact: object) -> str:
    if isinstance(fact, timedelta):  # as the user would type it, not as Python prints it
        if timedelta(0) < fact < _SECOND:
            return f"{fact.total_seconds() * 1000:g}ms"
        if not fact:
            return "0s"
        return f"{fact.days}d" if not fact % _DAY else f"{fact.total_seconds():g}s"
    try:
        return str(fact)
    except (RecursionError, ValueError):
        # Nested too deeply, or an integer with too many digits, for str().
        return type(fact).__name__


def _sanitize(fact: str, most: int) -> str:
    """Truncate a fact and replace control characters: hostile input must neither fill a message nor control a terminal."""
    printable = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in fact[: most + 1]
    )
    return truncate(printable, most)
