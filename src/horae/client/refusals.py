"""Catalogue of client-side refusals: unreachable server, lost answer, other version, bad address, missing token."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidTask, NotAllowed, NotAuthenticated, ServerUnreachable
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "server_unreachable": RefusalEntry(
            ServerUnreachable,
            "The server {server} cannot be reached: {problem}.",
            "Is it running ('horae up'), and is the address right? 'horae context ls' shows those that are known.",
            "无法连接服务器 {server}:{problem}。",
            "它在运行吗(“horae up”)?地址正确吗?“horae context ls”可列出已知的服务器。",
        ),
        "answer_lost": RefusalEntry(
            ServerUnreachable,
            "The connection to {server} was lost before the answer came: {problem}. It may have been done, or not.",
            "Check the current state before you repeat it.",
            "在收到应答之前与 {server} 的连接中断:{problem}。操作可能已完成,也可能没有。",
            "重试之前请先查看结果。",
        ),
        "shown_once_and_lost": RefusalEntry(
            ServerUnreachable,
            "It was made ({id}), but the answer that showed its {what} was lost with the connection.",
            "Remove it, and make a new one.",
            "已创建({id}),但显示其{what_zh}的应答随连接中断而丢失。",
            "请将其删除,然后新建一个。",
        ),
        "not_our_server": RefusalEntry(
            ServerUnreachable,
            "{server} answered, but not as Horae does: {problem}.",
            "Check the address; a proxy or another program may be in between.",
            "{server} 有应答,但不是 Horae 的应答:{problem}。",
            "请检查地址;中间可能有代理或其他程序。",
        ),
        "other_version": RefusalEntry(
            ServerUnreachable,
            "{server} has Horae {theirs}, this is Horae {ours}: the versions are not compatible here ({problem}).",
            "Use the same version on both sides.",
            "{server} 的 Horae 版本为 {theirs},本机为 {ours}:此处无法互通({problem})。",
            "请在两端使用相同的版本。",
        ),
        "bad_server_address": RefusalEntry(
            InvalidTask,
            "'{server}' is not a server address.",
            "Write it as https://horae.example.org or http://127.0.0.1:4672, without user, query or fragment, "
            "or as unix:/run/horae.sock with the whole path of a socket.",
            "“{server}”不是服务器地址。",
            "请写成 https://horae.example.org 或 http://127.0.0.1:4672,不含用户、查询或片段;"
            "套接字请写成 unix:/run/horae.sock,使用完整路径。",
        ),
        "plain_http": RefusalEntry(
            NotAllowed,
            "{server} is not encrypted: anyone on the network path can read the token and the data.",
            "Use an address that begins with https://. To allow it all the same: 'horae login {server} --plain-http', "
            "HORAE_PLAIN_HTTP=on in the environment, or plain_http = true in horae.toml.",
            "{server} 未加密:途中的任何人都能读取令牌和发送的内容。",
            "请使用以 https:// 开头的地址。如仍要允许:“horae login {server} --plain-http”、环境变量 HORAE_PLAIN_HTTP=on,"
            "或 horae.toml 中的 plain_http = true。",
        ),
        "no_token_here": RefusalEntry(
            NotAuthenticated,
            "There is no token for {server} on this machine.",
            "Log in with 'horae login {server}', or name a file that holds one with HORAE_TOKEN_FILE.",
            "本机没有用于 {server} 的令牌。",
            "请用“horae login {server}”登录,或用 HORAE_TOKEN_FILE 指定存放令牌的文件。",
        ),
        "not_over_http": RefusalEntry(
            InvalidTask,
            "A server does not take {what}.",
            "Do it on the machine that has the store, with --store.",
            "服务器不接受{what_zh}。",
            "请在存储所在的机器上用 --store 执行。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
