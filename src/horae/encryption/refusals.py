"""Catalogue of refusals of secrets and encryption keys: code, sentence and hint in English and Chinese."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotFound
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "bad_secret_name": RefusalEntry(
            InvalidTask,
            "A secret cannot be called '{name}'.",
            "Use 1 to {most} of the characters A-Z a-z 0-9 _ . -, for example 'github_token'.",
            "机密不能命名为“{name}”。",
            "请使用 1 到 {most} 个字符:A-Z a-z 0-9 _ . -,例如“github_token”。",
        ),
        "bad_secret_value": RefusalEntry(
            InvalidTask,
            "The value of '{name}' cannot be kept: it is {came}.",
            "Give a text of 1 to {most} bytes.",
            "无法保存“{name}”的值:它{came_zh}。",
            "请给出 1 到 {most} 字节的文本。",
        ),
        "too_many_secrets": RefusalEntry(
            Conflict,
            "'{owner}' already has {most} secrets, and no more are kept.",
            "Remove some that nothing uses any more: horae secret rm NAME --owner {owner}",
            "“{owner}”已有 {most} 个机密,不能再增加。",
            "请删除不再使用的机密:horae secret rm 名称 --owner {owner}",
        ),
        "no_such_secret": RefusalEntry(
            NotFound,
            "There is no secret '{name}'.",
            "See which there are with: horae secret ls.",
            "没有机密“{name}”。",
            "可用 horae secret ls 查看已有的机密。",
        ),
        "secret_contested": RefusalEntry(
            Conflict,
            "'{name}' is being written by others again and again, so this was not done.",
            "Try again when they have finished.",
            "“{name}”正被其他人反复写入,本次操作未执行。",
            "请等他们完成后再试。",
        ),
        "secret_sealed_otherwise": RefusalEntry(
            Conflict,
            "The secret '{name}' cannot be opened with the key from {origin}: another key sealed it, or it was changed.",
            "Bring back the key file that was used then, or set the secret again: horae secret set {name} --owner {owner}",
            "无法用来自 {origin} 的密钥打开机密“{name}”:它是用另一个密钥封存的,或已被改动。",
            "请恢复当时的密钥文件,或重新设置:horae secret set {name} --owner {owner}",
        ),
        "key_length": RefusalEntry(
            Conflict,
            "The key from {origin} has {size} bytes instead of {wanted}, so it cannot be the key.",
            "Bring back the right file; without secrets yet, remove it and a new one is made.",
            "来自 {origin} 的密钥有 {size} 字节,而不是 {wanted} 字节,因此不可能是正确的密钥。",
            "请恢复正确的文件;若还没有任何机密,删除它即可自动新建。",
        ),
        "key_file_exposed": RefusalEntry(
            Conflict,
            "The key file {path} can be read by others on this machine (mode {mode}).",
            "Close it with: chmod 600 {quoted}",
            "本机上的其他人可以读取密钥文件 {path}(权限 {mode})。",
            "请收紧权限:chmod 600 {quoted}",
        ),
        "key_file_unusable": RefusalEntry(
            Conflict,
            "The key file {path} cannot be used: {why}.",
            "Make its folder writable for this user, or name another place in HORAE_KEY_FILE.",
            "无法使用密钥文件 {path}:{why}。",
            "请让当前用户可以写入其目录,或用 HORAE_KEY_FILE 指定其他位置。",
        ),
        "key_file_not_named": RefusalEntry(
            Conflict,
            "No key is named for the secrets of this store: on a server, no file lies beside it, and all nodes need the same key.",
            "Set HORAE_KEY_FILE to a file that is on every machine; the first secret that is set makes it.",
            "尚未指明此存储的机密所用的密钥:服务器上的存储旁边没有文件,且所有节点需要同一个密钥。",
            "请用 HORAE_KEY_FILE 指明一个每台机器上都有的文件;设置第一个机密时会创建它。",
        ),
        "key_file_missing": RefusalEntry(
            Conflict,
            "There is no key file {path} on this machine, and secrets are sealed with one that is elsewhere.",
            "Copy it from a machine that has it, readable by this user alone, or name its place in HORAE_KEY_FILE.",
            "本机没有密钥文件 {path},而机密是用别处的密钥封存的。",
            "请从拥有它的机器复制过来,只允许当前用户读取,或用 HORAE_KEY_FILE 指明其位置。",
        ),
        "secrets_library_missing": RefusalEntry(
            Conflict,
            "Secrets need a library that is not installed.",
            "Install it with: pip install 'horae[secrets]'",
            "机密功能需要一个尚未安装的库。",
            "请安装:pip install 'horae[secrets]'",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
