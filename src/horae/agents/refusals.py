"""Refusals of runtimes, mounts, settings and specs of agents: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotAllowed
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "runtime_missing": RefusalEntry(
            Conflict,
            "The program {program} of the runtime is not installed.",
            "On Debian: apt-get install {package}.",
            "没有安装运行时的程序 {program}。",
            "在 Debian 上:apt-get install {package}。",
        ),
        "runtime_broken": RefusalEntry(
            Conflict,
            "The runtime {runtime} cannot start a program here: {problem}.",
            "Run this by hand to see the same error: {command}",
            "运行时 {runtime} 无法在这里启动程序:{problem}。",
            "手动运行下面的命令可以看到同样的错误:{command}",
        ),
        "runtime_unlimited": RefusalEntry(
            Conflict,
            "Nothing here can limit the number of processes of an agent.",
            "Run Horae as a user other than root, or give it a writable control group (systemd: Delegate=yes), or use podman.",
            "这里没有办法限制代理的进程数量。",
            "请用 root 以外的用户运行 Horae,或给它一个可写的控制组(systemd:Delegate=yes),或使用 podman。",
        ),
        "runtime_not_isolated": RefusalEntry(
            NotAllowed,
            "A plain process is not isolated: an agent could read and change all that Horae can.",
            "Use podman or bubblewrap; the operator may allow plain processes explicitly, for agents that are trusted.",
            "普通进程没有隔离:代理能够读取和修改 Horae 能访问的一切。",
            "请使用 podman 或 bubblewrap;对于可信的代理,运维人员可以明确允许普通进程。",
        ),
        "runtime_spec": RefusalEntry(
            InvalidTask,
            "An agent cannot be started with {name} = {value}.",
            "Give {allowed}.",
            "无法用 {name} = {value} 启动代理。",
            "请给出:{allowed}。",
        ),
        "agent_setting": RefusalEntry(
            InvalidTask,
            "The setting '{name}' of agents cannot be {value}.",
            "Give {wanted}, in the table [targets.agent].",
            "代理的设置“{name}”不能是 {value}。",
            "请在表 [targets.agent] 中给出:{wanted}。",
        ),
        "agent_directory_missing": RefusalEntry(
            Conflict,
            "There is no directory for the files of agents.",
            "Set directory in the table [targets.agent] to an absolute path. With a store in a SQLite file it is 'agents' beside it.",
            "没有存放代理文件的目录。",
            "请在表 [targets.agent] 中把 directory 设为绝对路径。存储为 SQLite 文件时,默认是其旁边的“agents”。",
        ),
        "agents_disabled": RefusalEntry(
            Conflict,
            "This node runs no agents.",
            "Start one that does: horae up --agents, or set enabled = true in the table [targets.agent].",
            "此节点不运行代理。",
            "请启动运行代理的节点:horae up --agents,或在表 [targets.agent] 中设置 enabled = true。",
        ),
        "agent_secret_missing": RefusalEntry(
            Conflict,
            "Agents need the secret '{name}', which is not set.",
            "Set it: horae secret set {name} --owner local.",
            "代理需要机密“{name}”,但它尚未设置。",
            "请设置:horae secret set {name} --owner local。",
        ),
        "agent_spec": RefusalEntry(
            InvalidTask,
            "An agent's task cannot have {name} = {value}.",
            "Give {wanted}.",
            "代理任务不能有 {name} = {value}。",
            "请给出:{wanted}。",
        ),
        "agent_unknown_key": RefusalEntry(
            InvalidTask,
            "An agent's task has no '{name}'.",
            "It has: {allowed}.",
            "代理任务没有“{name}”这一项。",
            "可用的项:{allowed}。",
        ),
        "mount_source": RefusalEntry(
            InvalidTask,
            "'{path}' is not mounted: {problem}.",
            "Give the real path of a directory, file or socket that exists; realpath prints it.",
            "没有挂载“{path}”:{problem}。",
            "请给出现有目录、文件或套接字的真实路径;realpath 可以显示它。",
        ),
        "mount_list_missing": RefusalEntry(
            NotAllowed,
            "No directories may be mounted: the list of permitted ones, {file}, does not exist.",
            'The operator writes it, for example: {{"allowedRoots": [{{"path": "~/projects", "allowReadWrite": false}}], '
            '"blockedPatterns": [], "nonMainReadOnly": true}}.',
            "不允许挂载任何目录:许可列表 {file} 不存在。",
            '由运维人员编写,例如:{{"allowedRoots": [{{"path": "~/projects", "allowReadWrite": false}}], '
            '"blockedPatterns": [], "nonMainReadOnly": true}}。',
        ),
        "mount_list_invalid": RefusalEntry(
            NotAllowed,
            "No directories may be mounted: the list of permitted ones, {file}, cannot be used: {problem}.",
            "The operator corrects the file; it is read again for every run.",
            "不允许挂载任何目录:许可列表 {file} 无法使用:{problem}。",
            "由运维人员改正该文件;每次运行都会重新读取它。",
        ),
        "mount_not_found": RefusalEntry(
            InvalidTask,
            "There is no directory '{path}'.",
            "Create it on the host, or correct the path.",
            "没有目录“{path}”。",
            "请在主机上创建它,或改正路径。",
        ),
        "mount_blocked": RefusalEntry(
            NotAllowed,
            "'{path}' is never mounted: it matches the blocked pattern '{pattern}'.",
            "Keep secrets out of mounts: move the files that the agent needs to another directory.",
            "“{path}”从不挂载:它匹配禁止的模式“{pattern}”。",
            "请不要挂载密钥:把代理需要的文件移到其他目录。",
        ),
        "mount_not_allowed": RefusalEntry(
            NotAllowed,
            "'{path}' is outside of the directories that may be mounted.",
            "The operator adds a root to allowedRoots in {file}; permitted now: {allowed}.",
            "“{path}”不在允许挂载的目录之内。",
            "由运维人员在 {file} 的 allowedRoots 中添加;目前允许:{allowed}。",
        ),
        "mount_of_list": RefusalEntry(
            NotAllowed,
            "'{path}' is not mounted: it contains the list of permitted mounts, {file}.",
            "Mount a directory that does not contain the file.",
            "没有挂载“{path}”:它包含挂载许可列表 {file}。",
            "请挂载不包含该文件的目录。",
        ),
        "mount_of_agents": RefusalEntry(
            NotAllowed,
            "'{path}' is not mounted: it overlaps {directory}, where Horae keeps the files of all agents.",
            "Mount a directory outside of it.",
            "没有挂载“{path}”:它与 {directory} 重叠,Horae 在那里保存所有代理的文件。",
            "请挂载该目录之外的目录。",
        ),
        "mount_target": RefusalEntry(
            InvalidTask,
            "'{value}' cannot be the path of a mount.",
            "Give a relative path without '..' and ':', such as 'notes'; it appears below {folder}.",
            "“{value}”不能作为挂载位置。",
            "请给出不含“..”和“:”的相对路径,例如“notes”;它出现在 {folder} 之下。",
        ),
        "mount_target_twice": RefusalEntry(
            InvalidTask,
            "Two mounts have the place '{value}'.",
            "Give each mount a containerPath of its own.",
            "两个挂载使用了同一位置“{value}”。",
            "请给每个挂载各自的 containerPath。",
        ),
    }
)
