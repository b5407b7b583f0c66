"""Catalogue of import refusals: code, error class, sentence and hint in English and Chinese."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotFound
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "import_zone_unknown": RefusalEntry(
            InvalidTask,
            "The file has times without a zone, and nothing in it shows which zone they are in.",
            "Say it with --zone, for example --zone Asia/Shanghai.",
            "文件中的时间没有时区,文件中也没有内容表明是哪个时区。",
            "请用 --zone 指定,例如 --zone Asia/Shanghai。",
        ),
        "import_zone_unclear": RefusalEntry(
            InvalidTask,
            "The file names no zone, and its next runs fit several: {zones}.",
            "Say which one it is, for example --zone {first}.",
            "文件没有给出时区,其下次运行时间符合多个时区:{zones}。",
            "请指定是哪一个,例如 --zone {first}。",
        ),
        "import_no_file": RefusalEntry(
            NotFound,
            "There is no file '{path}'.",
            "Check the path.",
            "没有文件“{path}”。",
            "请检查路径。",
        ),
        "import_not_a_file": RefusalEntry(
            InvalidTask,
            "'{path}' is not an ordinary file.",
            "Give the path of a file, not of a directory, pipe or device.",
            "“{path}”不是普通文件。",
            "请给出文件的路径,不能是目录、管道或设备。",
        ),
        "import_unreadable": RefusalEntry(
            InvalidTask,
            "'{path}' cannot be read: {problem}.",
            "Check its permissions, or import a copy of it.",
            "无法读取“{path}”:{problem}。",
            "请检查权限,或导入它的副本。",
        ),
        "import_too_large": RefusalEntry(
            InvalidTask,
            "The file has more than {most} bytes.",
            "Check that it is the right file; split it if it is.",
            "文件超过 {most} 字节。",
            "请确认文件是否正确;如果正确,请拆分它。",
        ),
        "import_too_many": RefusalEntry(
            InvalidTask,
            "The file has more than {most} {things}.",
            "Split it, and import the parts one after the other.",
            "文件包含超过 {most} 个 {things}。",
            "请拆分文件,逐个导入。",
        ),
        "import_binary": RefusalEntry(
            InvalidTask,
            "This is not a text file: it has a NUL at byte {position}.",
            "Check that it is the right file.",
            "这不是文本文件:第 {position} 字节是 NUL。",
            "请确认文件是否正确。",
        ),
        "import_bad_utf8": RefusalEntry(
            InvalidTask,
            "The text is not UTF-8: byte {position} does not fit.",
            "Convert the file to UTF-8, for example with iconv.",
            "文本不是 UTF-8:第 {position} 字节不合规。",
            "请把文件转换为 UTF-8,例如使用 iconv。",
        ),
        "import_bad_json": RefusalEntry(
            InvalidTask,
            "This is not JSON: {problem}.",
            "Export the file again, or correct that place.",
            "这不是 JSON:{problem}。",
            "请重新导出文件,或修正该处。",
        ),
        "import_duplicate_key": RefusalEntry(
            InvalidTask,
            "The key '{key}' appears twice in one object.",
            "Remove one of the two: it is not clear which one is meant.",
            "键“{key}”在同一对象中出现了两次。",
            "请删除其中之一:无法判断以哪个为准。",
        ),
        "import_too_deep": RefusalEntry(
            InvalidTask,
            "The JSON is nested more than {most} levels deep.",
            "Check that it is the right file.",
            "JSON 嵌套超过 {most} 层。",
            "请确认文件是否正确。",
        ),
        "import_bad_field": RefusalEntry(
            InvalidTask,
            "{key} cannot be {value}.",
            "Wanted: {wanted}.",
            "{key} 不能是 {value}。",
            "应为:{wanted}。",
        ),
        "import_target_too_large": RefusalEntry(
            InvalidTask,
            "The target's specification has {size} bytes; the limit is {most}.",
            "Put the command into a file, and start that file.",
            "目标的配置有 {size} 字节;上限是 {most} 字节。",
            "请把命令放入文件,再启动该文件。",
        ),
        "import_not_a_database": RefusalEntry(
            InvalidTask,
            "'{path}' is not a SQLite database, or is damaged: {problem}.",
            "NanoClaw keeps its database in store/messages.db.",
            "“{path}”不是 SQLite 数据库,或已损坏:{problem}。",
            "NanoClaw 的数据库位于 store/messages.db。",
        ),
        "import_database_busy": RefusalEntry(
            Conflict,
            "'{path}' is being written to, or was left in the middle of a write: {problem}.",
            "Stop the program that uses it, or import a backup of it.",
            "“{path}”正在被写入,或上次写入中断:{problem}。",
            "请停止使用它的程序,或导入它的备份。",
        ),
        "import_no_table": RefusalEntry(
            InvalidTask,
            "The database has no table '{table}'.",
            "Give NanoClaw's store/messages.db; version 2 keeps its tasks elsewhere, and is not read.",
            "数据库中没有表“{table}”。",
            "请给出 NanoClaw 的 store/messages.db;第 2 版的任务存放在别处,不支持读取。",
        ),
        "import_too_much_work": RefusalEntry(
            InvalidTask,
            "Reading '{path}' takes more steps than any real database would.",
            "Check that it is the right file.",
            "读取“{path}”所需的步骤超过任何真实的数据库。",
            "请确认文件是否正确。",
        ),
        "import_no_jobs": RefusalEntry(
            InvalidTask,
            "This JSON holds no list of jobs.",
            "Give OpenClaw's cron/jobs.json, which looks like {{'version': 1, 'jobs': [...]}}.",
            "此 JSON 中没有任务列表。",
            "请给出 OpenClaw 的 cron/jobs.json,其形如 {{'version': 1, 'jobs': [...]}}。",
        ),
        "import_no_groups": RefusalEntry(
            InvalidTask,
            "This JSON holds no groups.",
            "Give NanoClaw's data/registered_groups.json, which maps each chat to a group.",
            "此 JSON 中没有群组。",
            "请给出 NanoClaw 的 data/registered_groups.json,它把每个会话映射到群组。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
