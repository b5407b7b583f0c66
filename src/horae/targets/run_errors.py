"""Translates run errors written by Horae to Chinese, by matching the stored English text against sentence patterns.

The ledger stores errors in English; an error written by foreign code is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from ..choices import Language
from ..errors import Refusal
from ..model.reason import Reason, describe_reason
from ..model.text.sentence_patterns import SentencePattern, placeholders, sentence_pattern, translate
from ..outgoing.refusals import CATALOGUE as OUTGOING
from ..refusal_catalogue import RefusalEntry
from .command.refusals import CATALOGUE as COMMAND
from .event.refusals import CATALOGUE as EVENT
from .http.refusals import CATALOGUE as HTTP

ERROR_SENTENCES: Final[tuple[tuple[str, str], ...]] = (
    # requests
    ("the name {place} could not be looked up", "无法解析域名 {place}"),
    ("no secure connection to {place}: {cause}", "无法与 {place} 建立安全连接:{cause}"),
    ("{place} could not be connected to in time", "未能及时连接到 {place}"),
    ("{place} could not be connected to: {cause}", "无法连接到 {place}:{cause}"),
    ("{place} ended the connection before its answer was complete", "{place} 在应答完成之前断开了连接"),
    ("{place} sent a response that is not HTTP, or too long", "{place} 的应答不是 HTTP,或过长"),
    ("{place} had not answered after {seconds} s", "{place} 在 {seconds} 秒内没有应答"),
    ("{place}: the answer is encoded as {cause}", "{place}:应答的编码为 {cause}"),
    ("{place}: the compressed answer ends in the middle", "{place}:压缩的应答不完整"),
    ("{place}: the compressed answer cannot be read", "{place}:无法读取压缩的应答"),
    ("{place} redirects too often", "{place} 重定向次数过多"),
    (
        "{place} redirects the body to {other}, which was not meant to see it",
        "{place} 把请求体重定向到 {other},而它不应收到该内容",
    ),
    ("{place} redirects to a forbidden address: {cause}", "{place} 重定向到不允许的地址:{cause}"),
    ("{place} redirects to an invalid URL", "{place} 重定向的目标不是 URL"),
    ("{place} redirects from https to http", "{place} 从 https 重定向到 http"),
    ("the webhook {place} answered {status}", "webhook {place} 返回 {status}"),
    ("{place} answered {status} with nothing that can be used", "{place} 返回 {status},但没有可用的内容"),
    (
        "{place} answered {status}, a redirect to {other} that is not followed",
        "{place} 返回 {status},重定向到 {other},未跟随",
    ),
    (
        "{place} answered {status} {phrase}, a redirect to {other} that is not followed",
        "{place} 返回 {status} {phrase},重定向到 {other},未跟随",
    ),
    ("{place} answered {status}: {body}", "{place} 返回 {status}:{body}"),
    ("{place} answered {status} {phrase}: {body}", "{place} 返回 {status} {phrase}:{body}"),
    ("{place} answered {status} {phrase}", "{place} 返回 {status} {phrase}"),
    ("{place} answered {status}", "{place} 返回 {status}"),
    ("the body is nested too deeply", "请求体嵌套过深"),
    ("publishing to Redis failed: {cause}", "无法发送到 Redis:{cause}"),
    # commands
    ("exit code {number}", "退出码 {number}"),
    ("killed by signal {signal}, at its limit of processor time", "被信号 {signal} 终止:达到处理器时间上限"),
    ("killed by signal {signal}, at its limit of file size", "被信号 {signal} 终止:达到文件大小上限"),
    ("killed by signal {signal}", "被信号 {signal} 终止"),
    ("its launcher process was killed", "其启动进程被终止"),
    ("its directory cannot be used: {cause}", "无法使用其目录:{cause}"),
    ("the program '{program}' could not be started: {cause}", "无法启动程序“{program}”:{cause}"),
    ("no process could be started: {cause}", "无法启动进程:{cause}"),
    ("its process was stopped", "其进程已被停止"),
    ("it was stopped before its process began", "在进程启动之前已被停止"),
    ("its spec cannot be read: {cause}", "无法读取其定义:{cause}"),
    ("its secrets cannot be read: {cause}", "无法读取其机密:{cause}"),
    ("there is no secret '{name}'; set it with: {command}", "没有机密“{name}”;设置方法:{command}"),
    # functions
    ("there is no function '{name}' on this node", "此节点没有函数“{name}”"),
    ("the target names no function", "目标没有指明函数"),
    (
        "{name} cannot run in a process of its own: no other process could find it",
        "{name} 无法在独立进程中运行:其他进程找不到它",
    ),
    ("the process ended with code {number} before it answered", "进程在给出结果之前以退出码 {number} 结束"),
    ("the process died with signal {signal}", "进程被信号 {signal} 终止"),
    (
        "it returned a coroutine that is never awaited; register the async function itself",
        "它返回了未被等待的协程;请直接注册异步函数本身",
    ),
    ("{type}, which cannot be told: {other}", "{type}(无法显示:{other})"),
    ("{type}, which cannot be told", "{type}(无法显示)"),
    ("argument '{name}' of {function} is missing; wanted: {wanted}", "{function} 缺少参数“{name}”;应为:{wanted}"),
    (
        "argument '{name}' of {function} is not known; its arguments are: {known}",
        "{function} 没有参数“{name}”;其参数为:{known}",
    ),
    (
        "argument '{name}' of {function} cannot be {came}; wanted: {wanted}",
        "{function} 的参数“{name}”不能是 {came};应为:{wanted}",
    ),
    # nodes
    ("no target of kind '{kind}'", "没有“{kind}”类型的目标"),
    ("the target answered with {type}, which is no outcome", "目标返回了 {type},它不是有效的结果"),
    ("the function cancelled itself", "函数自行取消"),
    ("not over after {seconds} s", "运行 {seconds} 秒后仍未结束"),
    ("silent for {seconds} s", "{seconds} 秒内没有任何信号"),
)
_CAUSES: Final = {
    "Address already in use": "地址已被占用",
    "Connection refused": "连接被拒绝",
    "Connection reset by peer": "连接被对方重置",
    "Connection timed out": "连接超时",
    "Exec format error": "可执行文件格式错误",
    "Is a directory": "它是目录",
    "Network is unreachable": "网络不可达",
    "No route to host": "没有到主机的路由",
    "No such file or directory": "没有该文件或目录",
    "Not a directory": "不是目录",
    "Operation not permitted": "不允许的操作",
    "Permission denied": "权限不足",
    "it could not be agreed on": "协商失败",
    "no reason": "原因不明",
}
"""Common error texts of the operating system."""
_FACT_PATTERNS: Final = {
    "place": r"[^\s:]+(?::\d+)?|\[[0-9A-Fa-f:.]+\](?::\d+)?",
    "status": r"\d{3}",
    "number": r"-?\d+",
    "seconds": r"[\d.e+]+",
    "type": r"\w+",
}


def localized_error(error: str, language: Language) -> str:
    """Translate the error of a run; only its first line, since the rest is a traceback or output."""
    if language == "en":
        return error
    first, separator, rest = error.partition("\n")
    return translate(first, _patterns(), "cause", _CAUSES) + separator + rest


@cache
def _patterns() -> tuple[SentencePattern, ...]:
    return tuple(
        sentence_pattern(*each, _FACT_PATTERNS)
        for each in (*ERROR_SENTENCES, *_reason_sentences(), *_refusal_sentences())
    )


def _reason_sentences() -> Iterator[tuple[str, str]]:
    for reason in Reason:
        yield describe_reason(reason), describe_reason(reason, "zh")


def _refusal_sentences() -> Iterator[tuple[str, str]]:
    """Yield (English, Chinese) of each refusal, with its hint, as a run stores it, and without."""
    for catalogue in (OUTGOING, HTTP, COMMAND, EVENT):
        for entry in catalogue.values():
            yield from _entry_sentences(entry)


def _entry_sentences(entry: RefusalEntry[Refusal]) -> Iterator[tuple[str, str]]:
    with_hint = f"{entry.message} {entry.hint}", f"{entry.message_zh}{entry.hint_zh}"
    for english, chinese in (with_hint, (entry.message, entry.message_zh)):
        # A Chinese sentence cannot be built from the English one if it needs a fact which that does not contain.
        if placeholders(chinese) <= placeholders(english):
            yield english, chinese
