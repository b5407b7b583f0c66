"""Refusals of the commands that run and operate a deployment."""

from __future__ import annotations

from typing import Final

from ...choices import Language
from ...errors import Conflict, InvalidTask, NotFound, Refusal, Sentence
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry
from .refusals import BadUsage

CATALOGUE: Final = RefusalCatalogue(
    {
        "nothing_to_run": RefusalEntry(
            BadUsage,
            "Without the engine and the API there is nothing to run.",
            "Leave out --no-engine or --no-api.",
            "既不运行节点也不提供接口,就没有可运行的内容。",
            "请去掉 --no-engine 或 --no-api。",
        ),
        "move_needs_owner": RefusalEntry(
            BadUsage,
            "--place, --to-key-file and --abort belong to the move of one owner.",
            "Name the owner: horae move FROM_URL TO_URL --owner OWNER",
            "--place、--to-key-file 和 --abort 只用于迁移单个所有者。",
            "请给出所有者：horae move 来源 目标 --owner 所有者",
        ),
        "agents_without_engine": RefusalEntry(
            BadUsage,
            "Agents need the engine: their turns are runs of tasks.",
            "Leave out --no-engine, or start the agents with: horae worker --agents",
            "智能体需要节点：它们的轮次就是任务的运行。",
            "请去掉 --no-engine，或用 horae worker --agents 启动智能体。",
        ),
        "stations_without_engine": RefusalEntry(
            BadUsage,
            "Stations need the engine: it calls them.",
            "Leave out --no-engine, or let them join with: horae worker --stations",
            "站点需要节点：由节点调用它们。",
            "请去掉 --no-engine，或用 horae worker --stations 让它们加入。",
        ),
        "processes_without_engine": RefusalEntry(
            BadUsage,
            "--processes counts processes with an engine, and --no-engine leaves the engine out.",
            "Leave out --no-engine, or run them with: horae worker --processes 2",
            "--processes 是带节点的进程数，而 --no-engine 表示不运行节点。",
            "请去掉 --no-engine，或用 horae worker --processes 2 运行它们。",
        ),
        "socket_without_api": RefusalEntry(
            BadUsage,
            "--socket is for the HTTP API, and that is off.",
            "Leave out --socket, or turn the API on: without --no-api, and not api = off in the settings.",
            "--socket 用于 HTTP API,而它已关闭。",
            "请去掉 --socket,或启用 API:不加 --no-api,且设置中没有 api = off。",
        ),
        "no_engine_in_memory": RefusalEntry(
            BadUsage,
            "Without an engine, the API needs a store that other processes share: the store of an app, or one in memory, is not shared.",
            "Leave out --no-engine, or choose a store with --store.",
            "没有节点时,接口需要其他进程也能使用的存储:应用自带的存储或内存存储都不行。",
            "请去掉 --no-engine,或用 --store 选择存储。",
        ),
        "no_such_file": RefusalEntry(
            NotFound,
            "There is no file '{path}'.",
            "Check the path; it is relative to the current folder.",
            "没有文件“{path}”。",
            "请检查路径;相对路径从当前目录算起。",
        ),
        "nothing_taken_over": RefusalEntry(
            InvalidTask,
            "Nothing in '{path}' could be imported: {number} entries are unclear.",
            "Each is listed with its reason; correct the file or the settings, and import it again.",
            "无法从“{path}”导入任何内容:{number} 项不明确。",
            "每一项都已说明原因;请修正文件或设置后重新导入。",
        ),
        "no_such_module": RefusalEntry(
            NotFound,
            "There is no module '{name}'.",
            "Give a file such as jobs.py, or a module that can be imported from this folder.",
            "没有模块“{name}”。",
            "请给出 jobs.py 这样的文件,或可以从当前目录导入的模块。",
        ),
        "module_name_taken": RefusalEntry(
            InvalidTask,
            "{path} cannot be loaded under the name '{name}': another module has it, or it is not a valid name.",
            "Rename the file.",
            "无法以“{name}”为名加载 {path}:该名称已被其他模块占用,或不是合法的名称。",
            "请重命名该文件。",
        ),
        "module_failed": RefusalEntry(
            InvalidTask,
            "{place} cannot be imported: {problem}.",
            "Correct it; it must be importable without starting anything.",
            "无法导入 {place}:{problem}。",
            "请修正它;导入它时不应启动任何东西。",
        ),
        "no_app": RefusalEntry(
            NotFound,
            "There is no Horae object in {place}.",
            "Make one at the top of it: app = Horae()",
            "{place} 中没有 Horae 对象。",
            "请在其顶层创建一个:app = Horae()",
        ),
        "several_apps": RefusalEntry(
            InvalidTask,
            "There are several Horae objects in {place}: {names}.",
            "Say which one: {place}:{first}",
            "{place} 中有多个 Horae 对象:{names}。",
            "请指明其中一个:`{place}:{first}`",
        ),
        "not_an_app": RefusalEntry(
            NotFound,
            "'{name}' is not a Horae object in {place}.",
            "Give the name of the variable that holds it.",
            "{place} 中的“{name}”不是 Horae 对象。",
            "请写出保存它的变量名。",
        ),
        "only_a_file": RefusalEntry(
            InvalidTask,
            "This is only possible with a store in a file, not with '{url}'.",
            "Choose one with --store sqlite:///file.db.",
            "该操作只适用于文件存储,不适用于“{url}”。",
            "请用 --store sqlite:///文件.db 选择文件存储。",
        ),
        "backup_on_server": RefusalEntry(
            InvalidTask,
            "{place} is backed up by the tools of its server, not by Horae.",
            "Use pg_dump, mariadb-dump or mysqldump: 'horae doctor' prints the command. While no node runs, 'horae move FROM_URL TO_URL' copies "
            "everything into a file.",
            "{place} 由服务器自带的工具备份,而不是由 Horae 备份。",
            "请使用 pg_dump、mariadb-dump 或 mysqldump:“horae doctor”会给出命令。没有节点运行时,“horae move 来源 目标”可把全部数据复制到文件。",
        ),
        "restore_on_server": RefusalEntry(
            InvalidTask,
            "{place} is on a server: a file cannot replace it.",
            "Restore a dump with the tools of the server; to copy a file of Horae there, use: "
            "horae move sqlite:///FILE TO_URL",
            "{place} 位于服务器上,无法用文件替换。",
            "请用服务器自带的工具恢复转储;Horae 的文件可这样迁入:horae move sqlite:///文件 目标地址",
        ),
        "file_exists": RefusalEntry(
            BadUsage,
            "{path} exists already.",
            "Choose another name, or use --yes to replace it.",
            "{path} 已经存在。",
            "请换一个名字,或用 --yes 覆盖它。",
        ),
        "same_file": RefusalEntry(
            InvalidTask,
            "{path} is the store itself.",
            "Give the path of a copy.",
            "{path} 就是存储文件本身。",
            "请给出副本的路径。",
        ),
        "bad_backup": RefusalEntry(
            InvalidTask,
            "{path} cannot be restored: {problem}",
            "Give a file that 'horae db backup PATH' wrote; nothing was changed.",
            "无法恢复 {path}:{problem}",
            "请给出由“horae db backup 路径”写出的文件;没有做任何改动。",
        ),
        "node_is_live": RefusalEntry(
            Conflict,
            "An engine runs on this store: {nodes}.",
            "Stop it first (Ctrl-C, or SIGTERM), then restore.",
            "有节点正在使用此存储:{nodes}。",
            "请先停止它(Ctrl-C 或 SIGTERM),再恢复。",
        ),
        "store_in_use": RefusalEntry(
            Conflict,
            "Another process has {path} open.",
            "Stop the programs that use it, then try again; nothing was changed.",
            "另一个进程正打开着 {path}。",
            "请停止使用它的程序后重试;没有做任何改动。",
        ),
        "secret_as_argument": RefusalEntry(
            BadUsage,
            "The value of a secret is not given on the command line, where others can read it.",
            "Type it when asked, or use --from-file FILE, or pipe it in: ... | horae secret set {name}{owner_option} -",
            "机密的值不能写在命令行上,其他人可以看到。",
            "请在提示时输入,或使用 --from-file 文件,或用管道传入:... | horae secret set {name}{owner_option} -",
        ),
        "no_secret_value": RefusalEntry(
            BadUsage,
            "There is no terminal to ask for the value on.",
            "Use --from-file FILE, or pipe it in: ... | horae secret set {name}{owner_option} -",
            "没有可以询问机密值的终端。",
            "请使用 --from-file 文件,或用管道传入:... | horae secret set {name}{owner_option} -",
        ),
        "no_destination_url": RefusalEntry(
            BadUsage,
            "There is no terminal to ask for the URL on.",
            "Pipe it in: ... | horae notify add {name}{owner_option} -",
            "没有可以询问 URL 的终端。",
            "请用管道传入:... | horae notify add {name}{owner_option} -",
        ),
        "unreadable_file": RefusalEntry(
            InvalidTask,
            "{path} cannot be read: {problem}.",
            "Check that it is a text file that you may read.",
            "无法读取 {path}:{problem}。",
            "请确认它是可读的文本文件。",
        ),
        "unwritable_file": RefusalEntry(
            InvalidTask,
            "{path} cannot be written: {problem}.",
            "Choose another place.",
            "无法写入 {path}:{problem}。",
            "请换一个位置。",
        ),
        "unknown_format": RefusalEntry(
            InvalidTask,
            "The format of {path} is unknown.",
            "Name the format: --format jsonl, crontab, nanoclaw or openclaw.",
            "无法判断 {path} 是哪种文件。",
            "请用 --format 指明:jsonl、crontab、nanoclaw 或 openclaw。",
        ),
        "only_from_a_file": RefusalEntry(
            BadUsage,
            "A NanoClaw database cannot come from standard input.",
            "Give the path of store/messages.db.",
            "NanoClaw 数据库不能来自标准输入。",
            "请给出 store/messages.db 的路径。",
        ),
        "no_installation": RefusalEntry(
            NotFound,
            "'{path}' is a directory without {file}, so it is no NanoClaw installation.",
            "Give the directory of NanoClaw, or a file.",
            "“{path}”目录中没有 {file},不是 NanoClaw 安装。",
            "请给出 NanoClaw 的目录或一个文件。",
        ),
        "bad_group_in_export": RefusalEntry(
            InvalidTask,
            "{path}, {source}: {problem}",
            "Change or remove that line of the file, and import it again.",
            "{path},{source}:{problem}",
            "请修改或删除文件中的该行,然后重新导入。",
        ),
        "bad_export": RefusalEntry(
            InvalidTask,
            "Line {line} of {path} is not a line of an export: {problem}.",
            "Give a file that 'horae export' wrote; nothing was changed.",
            "{path} 的第 {line} 行不是导出内容:{problem}。",
            "请给出由“horae export”写出的文件;没有做任何改动。",
        ),
        "newer_export": RefusalEntry(
            InvalidTask,
            "{path} was exported in version {version} of the format, and this Horae knows {known}.",
            "Use the newer Horae to read it.",
            "{path} 的导出格式版本为 {version},而此 Horae 只支持 {known}。",
            "请使用更新的 Horae 读取。",
        ),
        "bad_tasks_file": RefusalEntry(
            InvalidTask,
            "{path} cannot be read as a file of tasks: {problem}.",
            "See docs/tasks-file.md for its fields.",
            "无法把 {path} 读作任务文件:{problem}。",
            "文件格式见 docs/tasks-file.md。",
        ),
        "bad_yaml": RefusalEntry(
            InvalidTask,
            "{problem}",
            "Correct the file.",
            "{problem}",
            "请修正该文件。",
        ),
        "twice_in_file": RefusalEntry(
            InvalidTask,
            "The key '{key}' appears twice in {path}.",
            "Give each task a name, or a key, of its own.",
            "键“{key}”在 {path} 中出现了两次。",
            "请给每个任务不同的名称或键。",
        ),
        "label_without_prune": RefusalEntry(
            BadUsage,
            "--label only limits what --prune removes.",
            "Use --prune too, or leave --label out.",
            "--label 只用于限定 --prune 的范围。",
            "请同时使用 --prune,或去掉 --label。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


def with_location(refused: Refusal, en: str, zh: str) -> Refusal:
    """Return the refusal with a position in a file before its message."""
    places: dict[Language, str] = {"en": en, "zh": zh}
    sentences = {
        language: Sentence(f"{place}: {refused.in_language(language).message}", refused.in_language(language).hint)
        for language, place in places.items()
    }
    return type(refused)(refused.code, sentences, facts=refused.facts)
