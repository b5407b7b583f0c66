"""Errors that Horae writes into runs, in Chinese."""

from __future__ import annotations

import re

import pytest

from horae.outgoing.refusals import refuse_address
from horae.targets.command.refusals import refuse
from horae.targets.run_errors import ERROR_SENTENCES, localized_error
from horae.targets.secret_references import SecretMissing

ENGLISH_WORD = re.compile(r"(?<![\w{])[A-Za-z]{2,}(?![\w}])")
NAMES = {"HTTP", "URL", "Redis", "http", "https", "webhook"}


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("the name example.com could not be looked up", "无法解析域名 example.com"),
        ("127.0.0.1:9 could not be connected to: Connection refused", "无法连接到 127.0.0.1:9：连接被拒绝"),
        ("example.com answered 404 Not Found", "example.com 返回 404 Not Found"),
        ("example.com answered 500 Internal Server Error: oh no", "example.com 返回 500 Internal Server Error：oh no"),
        ("exit code 3\nlast line", "退出码 3\nlast line"),
        ("killed by signal 9 (SIGKILL)", "被信号 9 (SIGKILL) 终止"),
        (
            "the program 'nope' could not be started: No such file or directory",
            "无法启动程序“nope”：没有该文件或目录",
        ),
        ("example.com had not answered after 30 s", "example.com 在 30 秒内没有应答"),
        (str(SecretMissing("key", "ada")), "没有机密“key”；设置方法：horae secret set key --owner ada"),
        (
            "example.com redirects to a forbidden address: 'x.test' leads to an address that is not public.",
            "example.com 重定向到不允许的地址：“x.test”指向非公网地址。",
        ),
    ],
)
def test_own_error_is_translated(error: str, shown: str) -> None:
    assert localized_error(error, "zh") == shown
    assert localized_error(error, "en") == error


@pytest.mark.parametrize("error", ["ValueError: disk full", "the bot answered 7 questions", "", "磁盘已满"])
def test_foreign_error_is_unchanged(error: str) -> None:
    assert localized_error(error, "zh") == error


def test_refusal_is_translated_with_its_hint() -> None:
    for refusal in (refuse("command_not_allowed", program="rm"), refuse_address("example.com", ["10.0.0.0/8"])):
        message, hint = refusal.in_language("zh")
        assert localized_error(str(refusal), "zh") == message + hint


@pytest.mark.parametrize(("english", "chinese"), ERROR_SENTENCES)
def test_chinese_sentence_has_the_same_facts_and_no_english_words(english: str, chinese: str) -> None:
    facts = re.compile(r"{\w+}")
    assert set(facts.findall(english)) == set(facts.findall(chinese))
    assert set(ENGLISH_WORD.findall(facts.sub("", chinese))) <= NAMES
