"""Catalogue of refusals for a store on a database server that cannot be used: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import UnknownStore, UnusableStore
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "bad_store_address": RefusalEntry(
            UnknownStore,
            "'{url}' is not the address of a store: {problem}.",
            "Write it like postgresql://user:password@host:5432/database, mysql://user:password@host:3306/database or "
            "redis://user:password@host:6379/0.",
            "“{url}”不是存储地址:{problem}。",
            "请写成 postgresql://用户:密码@主机:5432/数据库、mysql://用户:密码@主机:3306/数据库 或 redis://用户:密码@主机:6379/0。",
        ),
        "store_library_missing": RefusalEntry(
            UnusableStore,
            "A store on {server} needs the library {library}, which is not installed.",
            "pip install 'horae[{extra}]'",
            "{server} 上的存储需要库 {library},但尚未安装。",
            "pip install 'horae[{extra}]'",
        ),
        "store_unreachable": RefusalEntry(
            UnusableStore,
            "There is no answer from {place}: {problem}.",
            "Check that the server is running there and that this machine can reach it.",
            "{place} 没有应答:{problem}。",
            "请确认服务器正在那里运行,且本机可以访问。",
        ),
        "store_login_refused": RefusalEntry(
            UnusableStore,
            "{place} refused the login of this user: {problem}.",
            "Check the user and the password, and what the server allows this machine. A password that is not in the address is "
            "read from PGPASSWORD or PGPASSFILE (PostgreSQL), MYSQL_PWD (MySQL) and REDISCLI_AUTH (Redis).",
            "{place} 拒绝该用户登录:{problem}。",
            "请检查用户和密码,以及服务器对本机的授权。地址中没有密码时,读取 PGPASSWORD 或 PGPASSFILE（PostgreSQL）、MYSQL_PWD（MySQL）以及 REDISCLI_AUTH（Redis）。",
        ),
        "store_database_missing": RefusalEntry(
            UnusableStore,
            "There is no such database at {place}: {problem}.",
            "Make it with the server's own tools (createdb, CREATE DATABASE), or correct the address.",
            "{place} 没有这个数据库:{problem}。",
            "请用服务器自带的工具创建(createdb、CREATE DATABASE),或更正地址。",
        ),
        "store_not_allowed": RefusalEntry(
            UnusableStore,
            "This user may not do at {place} what a store needs: {problem}.",
            "Let the user own the schema {schema}, or let its owner run 'horae db upgrade' once.",
            "该用户在 {place} 缺少存储所需的权限:{problem}。",
            "请让该用户拥有模式 {schema},或由其所有者执行一次“horae db upgrade”。",
        ),
        "store_commands_denied": RefusalEntry(
            UnusableStore,
            "This user may not run the commands at {place} that a store needs: {problem}.",
            "Allow them at the server: ACL SETUSER NAME +@all -@dangerous +info +config|get ~* &*",
            "该用户在 {place} 不能执行存储所需的命令:{problem}。",
            "请在服务器上授权:ACL SETUSER 用户 +@all -@dangerous +info +config|get ~* &*",
        ),
        "store_evicts": RefusalEntry(
            UnusableStore,
            "{place} removes keys when its memory is full (maxmemory-policy {policy}), which would lose tasks.",
            "Set it at the server: CONFIG SET maxmemory-policy noeviction",
            "{place} 在内存不足时会删除键(maxmemory-policy {policy}),任务会因此丢失。",
            "请在服务器上设置:CONFIG SET maxmemory-policy noeviction",
        ),
        "store_read_only": RefusalEntry(
            UnusableStore,
            "{place} takes no writes: it is read-only, or a standby.",
            "Give the address of the primary server.",
            "{place} 不接受写入:它是只读的,或是备用服务器。",
            "请给出主服务器的地址。",
        ),
        "store_newer": RefusalEntry(
            UnusableStore,
            "{place} was written by a newer Horae (schema {found}, this one knows {known}), and was left as it is.",
            "Upgrade Horae on this machine: pip install --upgrade horae",
            "{place} 由更新版本的 Horae 写入(模式版本 {found},本版本只认识 {known}),未作改动。",
            "请升级本机的 Horae:pip install --upgrade horae",
        ),
        "store_nodes_running": RefusalEntry(
            UnusableStore,
            "{place} cannot be upgraded while nodes of an older version are running: {names}.",
            "Stop these nodes first, then start this version: the upgrade renames tables, and an older version cannot go on with "
            "them. A node that crashed counts as stopped {lease} after its last heartbeat.",
            "旧版本的节点仍在运行,无法升级 {place}:{names}。",
            "请先停止这些节点,再启动本版本:升级会重命名表,旧版本无法继续使用。崩溃的节点在最后一次心跳 {lease} 后视为已停止。",
        ),
        "store_replicas_missing": RefusalEntry(
            UnusableStore,
            "{place} has {found} replicas, and the address asks that {wanted} have each commit (wait_replicas).",
            "Start the replicas, or give the address a smaller wait_replicas.",
            "{place} 有 {found} 个副本,而地址要求每次提交都写入 {wanted} 个副本(wait_replicas)。",
            "请启动副本,或在地址中减小 wait_replicas。",
        ),
        "store_not_ours": RefusalEntry(
            UnusableStore,
            "The schema {schema} at {place} holds tables of another program, and was left as it is.",
            "Choose another schema: add ?schema=NAME to the address.",
            "{place} 的模式 {schema} 中有其他程序的表,未作改动。",
            "请选择其他模式:在地址后加上 ?schema=名称。",
        ),
        "store_tables_not_ours": RefusalEntry(
            UnusableStore,
            "The tables at {place} whose names begin with {prefix} belong to another program, and were left as they are.",
            "Choose another prefix: add ?prefix=NAME_ to the address.",
            "{place} 中名称以 {prefix} 开头的表属于其他程序,未作改动。",
            "请选择其他前缀:在地址后加上 ?prefix=名称_。",
        ),
        "store_server_too_old": RefusalEntry(
            UnusableStore,
            "{place} runs {found}, and a store needs {wanted}.",
            "Upgrade the server, or use another one.",
            "{place} 运行的是 {found},而存储需要 {wanted}。",
            "请升级服务器,或使用其他服务器。",
        ),
        "store_feature_missing": RefusalEntry(
            UnusableStore,
            "{place} lacks a feature that the store uses. {problem} ({answer}).",
            "Use a server that has it, or grant this login the right to use it; docs/scale.md lists the servers.",
            "{place} 缺少存储所需的功能。{problem}（{answer}）。",
            "请使用具备该功能的服务器，或授予此登录名相应权限；docs/scale.md 列出了各种服务器。",
        ),
        "store_not_durable": RefusalEntry(
            UnusableStore,
            "{place} would lose what it has acknowledged: {problem}.",
            "Turn it on at the server; without it, acknowledged writes can be lost.",
            "{place} 可能丢失已确认的数据:{problem}。",
            "请在服务器上打开该设置;否则已确认的写入可能丢失。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
