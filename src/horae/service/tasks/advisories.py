"""Warnings about an accepted task: a code, and a sentence in English and Chinese."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Final

from ...choices import Language
from ...model.task import Target
from ...plural import apply_number_agreement
from ...typography import full_width

_CATALOGUE: Final[dict[str, tuple[str, str]]] = {
    "function_unknown": (
        "No node has registered a function '{name}'. The task waits until a node has it.",
        "没有节点注册过函数“{name}”。任务会一直等待,直到有节点提供它。",
    ),
    "function_unknown_near": (
        "No node has registered a function '{name}'. Did you mean '{near}'? The task waits until a node has it.",
        "没有节点注册过函数“{name}”。是不是“{near}”?任务会一直等待,直到有节点提供它。",
    ),
    "function_removed": (
        "The function '{name}' is no longer declared in {file}. The task waits until a node has it again.",
        "{file} 中已不再声明函数“{name}”。任务会一直等待,直到有节点再次提供它。",
    ),
    "function_completed": (
        "The function '{name}' is registered as '{whole}'.",
        "函数“{name}”的注册名是“{whole}”。",
    ),
    "function_not_running": (
        "No running node has the function '{name}'. The task waits until one starts: {command}",
        "没有正在运行的节点提供函数“{name}”。任务会等到这样的节点启动:{command}",
    ),
    "function_not_running_anywhere": (
        "No running node has the function '{name}'. The task waits until one starts: horae up with the file that has it.",
        "没有正在运行的节点提供函数“{name}”。任务会等到这样的节点启动:用 horae up 加上含有该函数的文件。",
    ),
    "function_draining": (
        (
            "The function '{name}' is only on a node that is draining, which starts nothing new. Let it start work again "
            "(horae nodes drain {node} --undo), or start another: {command}"
        ),
        (
            "只有正在排空的节点提供函数“{name}”,它不再启动新的运行。让它继续(horae nodes drain {node} --undo),"
            "或另启动一个:{command}"
        ),
    ),
    "quota_used_up": (
        (
            "A quota of {whose} is used up (runs per day, or stored bytes): occurrences are skipped until there is room. "
            "An admin sees which one with: {command}"
        ),
        "{whose} 的一项配额已用完(每日运行次数或存储字节数):在有余量之前,到期的会被跳过。管理员可用以下命令查看:{command}",
    ),
    "no_node_with_labels": (
        "No running node has the labels {labels}. The task waits until one starts: horae up {options}",
        "没有正在运行的节点带有标签 {labels}。任务会等到这样的节点启动:horae up {options}",
    ),
    "no_group": (
        "The group '{folder}' is not registered, so its runs would fail: horae group add {folder} CHANNEL:ID",
        "群组“{folder}”尚未注册,其运行会失败:horae group add {folder} 渠道:编号",
    ),
    "no_listener": (
        "No listener would receive it now: open 'horae events --follow' or an event stream, or add a webhook.",
        "目前没有监听者能收到它:请打开“horae events --follow”或事件流,或添加 webhook。",
    ),
    "predecessor_finished": (
        "The task '{name}', which it runs after, is {state}: it does not run by itself, and so starts nothing.",
        "它的前置任务“{name}”处于{state}状态:不会自行运行,因此不会触发任何任务。",
    ),
    "literal_secret": (
        """The header '{header}' is sent as the text "@secret:{name}". For the secret write {{"secret": "{name}"}}.""",
        '请求头“{header}”会按文字 "@secret:{name}" 发送。要使用机密,请写 `{{"secret": "{name}"}}`。',
    ),
    "network_refused": (
        "No running node allows this network: nothing is sent until one does. {hint}",
        "正在运行的节点都不允许该网络:在允许之前不会发送。{hint}",
    ),
    "nodes_without_key": (
        "The running nodes do not have the key of the secrets: nothing is sent until they do. Set HORAE_KEY_FILE for them.",
        "正在运行的节点没有机密所用的密钥:在拥有之前不会发送。请在节点上设置 HORAE_KEY_FILE。",
    ),
    "arguments_unsure": (
        "The arguments do not fit the newest '{name}' ({problem}), but running nodes have different versions of it.",
        "参数与最新的“{name}”不符({problem}),但正在运行的节点有不同的版本。",
    ),
}
_CODES: Final = {
    "function_unknown_near": "function_unknown",
    "function_not_running_anywhere": "function_not_running",
}
"""Code of each sentence whose code differs from its name."""
FUNCTION_CODES: Final = frozenset({"function_unknown", "function_removed", "function_not_running", "function_draining"})
"""Warnings that no node can start the function now."""


@dataclass(frozen=True, slots=True)
class Advisory:
    """A warning. `source` is the file or module with the missing function.

    The sentence contains only the name of a file, for front ends on other machines; a front end on this machine may
    show the path.
    """

    code: str
    sentences: dict[Language, str]
    source: str | None = None

    def in_language(self, language: Language) -> str:
        return self.sentences[language]


def build_advisory(sentence: str, **facts: object) -> Advisory:
    """Build a warning with the same facts in both languages."""
    return build_bilingual_advisory(sentence, facts, facts) if facts else _advisory_without_facts(sentence)


@cache
def _advisory_without_facts(sentence: str) -> Advisory:
    return build_bilingual_advisory(sentence, {}, {})


def build_bilingual_advisory(sentence: str, english: dict[str, object], chinese: dict[str, object]) -> Advisory:
    """Build a warning whose facts are words that differ per language."""
    en, zh = _CATALOGUE[sentence]
    return Advisory(
        _CODES.get(sentence, sentence),
        {"en": apply_number_agreement(en, english).format_map(english), "zh": full_width(zh).format_map(chinese)},
    )


def advisory_codes() -> frozenset[str]:
    return frozenset(_CODES.get(name, name) for name in _CATALOGUE)


_SPELLED: Final = "@secret:"


def literal_secrets(target: Target) -> tuple[Advisory, ...]:
    """`@secret:NAME` is read by `--header` alone; in JSON it is plain text."""
    if target.kind != "http" or _SPELLED not in target.spec:
        return ()
    try:
        headers = json.loads(target.spec).get("headers")
    except (ValueError, AttributeError, RecursionError):
        return ()
    if not isinstance(headers, dict):
        return ()
    return tuple(
        build_advisory("literal_secret", header=header, name=value.partition(_SPELLED)[2].split()[0])
        for header, value in headers.items()
        if isinstance(value, str) and value.partition(_SPELLED)[2].split()
    )
