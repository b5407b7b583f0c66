"""Refusals of login, contexts and commands about accounts, before a store or server is used."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotAllowed, NotAuthenticated, NotFound, Refusal
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry, build_refusal
from ...typography import full_width
from .refusals import BadUsage

CATALOGUE: Final = RefusalCatalogue(
    {
        "contexts_open_to_others": RefusalEntry(
            NotAllowed,
            "{path} holds tokens, and others can read it.",
            "Remove their access: chmod 600 {path}",
            "{path} 存有令牌,但其他用户可以读取。",
            "请收回权限:chmod 600 {path}",
        ),
        "contexts_unreadable": RefusalEntry(
            InvalidTask,
            "{path} cannot be read ({problem}).",
            "Move it away and log in again with 'horae login URL'.",
            "无法读取 {path}({problem})。",
            "请将其移走,然后用“horae login 地址”重新登录。",
        ),
        "no_such_context": RefusalEntry(
            NotFound,
            "There is no context '{name}'.",
            "'horae context ls' lists them, 'horae login URL' makes one.",
            "没有上下文“{name}”。",
            "“horae context ls”可列出,“horae login 地址”可新建。",
        ),
        "no_context_of_deployment": RefusalEntry(
            NotFound,
            "The owner '{owner}' belongs to the deployment '{deployment}', and no context has a token of it.",
            "Log in at the same router with a token of that deployment: horae login {server} --name {deployment}",
            "所有者“{owner}”属于部署“{deployment}”,但没有上下文持有该部署的令牌。",
            "请用该部署的令牌在同一路由器登录:horae login {server} --name {deployment}",
        ),
        "no_group_setting": RefusalEntry(
            BadUsage,
            "No setting of the group is given.",
            "Name one: horae group set {folder} --trigger @Andy",
            "没有给出群组的设置。",
            "请给出一项:horae group set {folder} --trigger @Andy",
        ),
        "group_or_all": RefusalEntry(
            BadUsage,
            "Name one group, or --all.",
            "List the groups: horae group ls",
            "请指定一个群组或 --all。",
            "查看已有的群组:horae group ls",
        ),
        "bad_context_name": RefusalEntry(
            BadUsage,
            "A context cannot be called '{name}'.",
            "Use letters, digits, '-', '_' and '.', at most 64; no address.",
            "上下文不能命名为“{name}”。",
            "请使用字母、数字、“-”、“_”和“.”,最多 64 个字符;不能是地址。",
        ),
        "no_server_here": RefusalEntry(
            Conflict,
            "No server of yours runs on this store, so there is no console to open.",
            "Start one with 'horae up'; or name another server: horae open --server URL",
            "此存储上没有您的服务器在运行,因此没有可打开的控制台。",
            "请用“horae up”启动;或指定其他服务器:horae open --server 地址",
        ),
        "no_token_given": RefusalEntry(
            BadUsage,
            "No token was given.",
            "Give it on standard input: horae login URL --token-stdin < file. It is never an argument.",
            "没有给出令牌。",
            "请从标准输入给出:horae login 地址 --token-stdin < 文件。令牌不能作为参数。",
        ),
        "token_file_unreadable": RefusalEntry(
            NotAllowed,
            "The token in {path} cannot be read: {problem}.",
            "HORAE_TOKEN_FILE names a file with the token as its only line.",
            "无法读取 {path} 中的令牌:{problem}。",
            "HORAE_TOKEN_FILE 应指向只有一行令牌的文件。",
        ),
        "token_file_exists": RefusalEntry(
            BadUsage,
            "{path} exists already. No token was made.",
            "Name a new file: nothing is overwritten.",
            "{path} 已经存在。没有创建令牌。",
            "请指定新文件:不会覆盖已有文件。",
        ),
        "token_file_unwritable": RefusalEntry(
            NotAllowed,
            "{path} cannot be made: {problem}. No token was made.",
            "Name a new file in a folder that you may write to.",
            "无法创建 {path}:{problem}。没有创建令牌。",
            "请指定可写文件夹中的新文件。",
        ),
        "only_here": RefusalEntry(
            BadUsage,
            "'{command}' works on this machine, not at a server ({server}).",
            "Leave --server out; or name a store with --store.",
            "“{command}”只在本机运行,不能用于服务器({server})。",
            "请去掉 --server;或用 --store 指定存储。",
        ),
        "only_here_variable": RefusalEntry(
            BadUsage,
            "'{command}' works on this machine, not at a server ({server}, from HORAE_SERVER).",
            "Unset HORAE_SERVER (unset HORAE_SERVER); or name a store with --store.",
            "“{command}”只在本机运行,不能用于服务器({server},来自 HORAE_SERVER)。",
            "请取消环境变量 HORAE_SERVER(unset HORAE_SERVER);或用 --store 指定存储。",
        ),
        "only_here_context": RefusalEntry(
            BadUsage,
            "'{command}' works on this machine, not at a server ({server}, the context '{context}').",
            "Let commands go to the store of this machine with 'horae context use none', or name a store with --store.",
            "“{command}”只在本机运行,不能用于服务器({server},上下文“{context}”)。",
            "用“horae context use none”让命令使用本机的存储,或用 --store 指定存储。",
        ),
        "bad_quota": RefusalEntry(
            BadUsage,
            "'{value}' is not a quota.",
            "Write name=value, with never for no limit and usual for that of the role. The names are: {allowed}.",
            "“{value}”不是配额。",
            "写法为 名称=值;never 表示不限制,usual 表示角色的默认值。可用名称:{allowed}。",
        ),
        "nothing_set": RefusalEntry(
            BadUsage,
            "The owner '{name}' exists already, and no change was given.",
            "Use --role, --zone, --quota or --note; 'horae owner show {name}' shows what is set.",
            "所有者“{name}”已存在,且没有给出要更改的内容。",
            "请使用 --role、--zone、--quota 或 --note;“horae owner show {name}”可查看当前设置。",
        ),
        "owner_exists": RefusalEntry(
            Conflict,
            "There is already an owner '{name}'.",
            "Change it with 'horae owner set {name}' and --role, --zone, --quota or --note.",
            "所有者“{name}”已存在。",
            "请用“horae owner set {name}”加 --role、--zone、--quota 或 --note 修改。",
        ),
        "one_agent_or_all": RefusalEntry(
            BadUsage,
            "No agent was named.",
            "Name one agent, or give --all for all agents of the owner.",
            "没有说明要设置谁的限制。",
            "请写出一个智能体的名称，或用 --all 表示该所有者的全部智能体。",
        ),
        "stop_one_or_all": RefusalEntry(
            BadUsage,
            "One agent, or --all without an owner, is needed.",
            "Name one agent: horae agent stop NAME --owner OWNER. Or stop all of them: horae agent stop --all",
            "需要一个智能体,或不带所有者的 --all。",
            "请写出一个智能体:horae agent stop 名称 --owner 所有者。或停止全部:horae agent stop --all",
        ),
        "audit_broken": RefusalEntry(
            Refusal,
            "The audit trail was changed from row {number} on.",
            "Rows were changed, removed or cut off: compare with a backup.",
            "审计记录自第 {number} 行起已被改动。",
            "记录被修改、删除或截断:请与备份比对。",
        ),
    }
)

_REFUSED_TOKENS: Final[dict[str, RefusalEntry[Refusal]]] = {
    "file": RefusalEntry(
        NotAuthenticated,
        "The token in {path} is not valid at {server}.",
        "{fix}",
        "{path} 中的令牌在 {server} 无效。",
        "{fix_zh}",
    ),
    "variable": RefusalEntry(
        NotAuthenticated,
        "The token in {path}, which HORAE_TOKEN_FILE names, is not valid at {server}.",
        "{fix} HORAE_TOKEN_FILE wins over a login: write the new token into its file, or unset the variable.",
        "HORAE_TOKEN_FILE 所指文件 {path} 中的令牌在 {server} 无效。",
        "{fix_zh}HORAE_TOKEN_FILE 优先于登录:请把新令牌写入该文件,或取消该变量。",
    ),
    "context": RefusalEntry(
        NotAuthenticated,
        "The token of the context '{context}' is not valid at {server}.",
        "{fix}",
        "上下文“{context}”的令牌在 {server} 无效。",
        "{fix_zh}",
    ),
    "given": RefusalEntry(
        NotAuthenticated,
        "The given token is not valid at {server}.",
        "{fix}",
        "给出的令牌在 {server} 无效。",
        "{fix_zh}",
    ),
}
_NEW_TOKEN: Final = (
    (
        "On the server's machine, an admin makes a new one with 'horae --store {store} token make NAME --owner OWNER', "
        "where OWNER is the member who uses it; give it to '{login}'."
    ),
    "由管理员在服务器所在的机器上用“horae --store {store} token make 名称 --owner 所有者”新建令牌,“所有者”为使用它的成员;再交给“{login}”。",
)


def refuse_token(origin: str, *, server: str, store: str, login: str, **facts: object) -> Refusal:
    """Return the `bad_token` refusal of a server, with the origin of the token (`file`, `variable`, `context`, `given`)."""
    fix, fix_zh = (each.format(store=store or "URL", login=login) for each in _NEW_TOKEN)
    entry = _REFUSED_TOKENS[origin]
    return build_refusal("bad_token", entry, {"server": server, "fix": fix, "fix_zh": full_width(fix_zh), **facts})


refuse: Final = CATALOGUE.refuse
