"""Messages and refusals of `horae service` in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotAllowed, NotFound
from ...message import Message
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry
from .refusals import BadUsage

WROTE: Final = Message("wrote {path}", "已写入 {path}")
SAME: Final = Message("{path} is as it should be", "{path} 已是最新")
KEPT_VARIABLES: Final = Message("{path} was there and stays as it is", "{path} 已存在,保持不变")
NEXT: Final = Message("Next", "接下来")
THEN_WORKER: Final = Message(
    "one instance for each worker: horae-worker@1, horae-worker@2, …",
    "每个工作进程一个实例:horae-worker@1、horae-worker@2 …",
)
LINGER: Final = Message("so that it runs while you are not logged in", "使其在未登录时也运行")
REMOVED: Final = Message("removed {path}", "已删除 {path}")
DATA_STAYS: Final = Message("tasks, tokens and {variables} stay", "任务、令牌和 {variables} 均保留")
INSTALLED: Final = Message("installed as {path}", "已安装:{path}")
STANDS: Final = Message("systemd says: {active} ({sub}), since {since}", "systemd 状态:{active}({sub}),始于 {since}")
SAYS: Final = Message("it says: {text}", "其报告:{text}")
NO_MANAGER: Final = Message("systemd does not run here", "此处没有运行 systemd")


CATALOGUE: Final = RefusalCatalogue(
    {
        "no_systemd": RefusalEntry(
            InvalidTask,
            "systemd does not run this machine, so nothing could start a service.",
            "Run 'horae up' by the service manager that is here, or write the unit for another machine with --root FOLDER.",
            "本机不是由 systemd 管理,无法启动服务。",
            "请用本机的服务管理器运行“horae up”,或用 --root 目录 为其他机器写出单元文件。",
        ),
        "needs_root": RefusalEntry(
            NotAllowed,
            "{path} cannot be written: {problem}.",
            "A service of the whole machine is installed by root; --user installs one of your own.",
            "无法写入 {path}:{problem}。",
            "整机服务需要 root 安装;--user 可安装您自己的服务。",
        ),
        "password_as_argument": RefusalEntry(
            BadUsage,
            "An address with a password is not given on the command line, where others can read it.",
            "Put it into HORAE_STORE: it is kept in {variables}, which only its owner can read.",
            "含密码的地址不能写在命令行上,其他人可以看到。",
            "请放入 HORAE_STORE:它会保存在 {variables} 中,其他人不能读取。",
        ),
        "store_for_nobody": RefusalEntry(
            InvalidTask,
            "A service cannot keep its tasks in '{url}'.",
            "Name a file by its whole path (sqlite:////var/lib/horae/horae.db), or a server.",
            "服务不能把任务保存在“{url}”。",
            "请写出文件的完整路径(sqlite:////var/lib/horae/horae.db),或服务器地址。",
        ),
        "program_in_home": RefusalEntry(
            InvalidTask,
            "Horae is installed in {path}, which a service of the machine cannot read.",
            "Install it elsewhere (python3 -m venv /opt/horae), or --user for a service of your own.",
            "Horae 安装在 {path},整机服务无法访问该处。",
            "请安装到其他位置(python3 -m venv /opt/horae),或用 --user 安装您自己的服务。",
        ),
        "unit_not_ours": RefusalEntry(
            Conflict,
            "{path} was not written by Horae.",
            "Move it away, or change it yourself; what differs from ours is best kept in a drop-in beside it.",
            "{path} 不是由 Horae 写入的。",
            "请将其移走或自行修改;与默认不同的设置最好放在旁边的 drop-in 文件中。",
        ),
        "not_installed": RefusalEntry(
            NotFound,
            "There is no {path}.",
            "'horae service install' writes it.",
            "没有 {path}。",
            "“horae service install”可写入。",
        ),
        "no_such_app_file": RefusalEntry(
            NotFound,
            "There is no file '{path}'.",
            "Name a file with the Horae object, or a module as package.module:app.",
            "没有文件“{path}”。",
            "请给出包含 Horae 对象的文件,或 package.module:app 形式的模块。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
