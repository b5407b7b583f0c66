"""Chinese translations of the usage errors of the command line library."""

from __future__ import annotations

from functools import cache
from typing import Final

from ...model.text.sentence_patterns import SentencePattern, sentence_pattern, translate

SENTENCES: Final[tuple[tuple[str, str], ...]] = (
    ("Missing argument {name}. Choose from:{choices}", "缺少参数 {name}。可选:{choices}"),
    ("Missing argument {name}.", "缺少参数 {name}。"),
    ("Missing option {name}. Choose from:{choices}", "缺少选项 {name}。可选:{choices}"),
    ("Missing option {name}.", "缺少选项 {name}。"),
    ("Missing command.", "缺少命令。"),
    ("Missing parameter: {name}", "缺少参数 {name}。"),
    ("No such command {name}. Did you mean {near}?", "没有命令 {name}。是否想输入 {near}?"),
    ("No such command {name}.", "没有命令 {name}。"),
    ("No such option: {name} (Possible options: {near})", "没有选项 {name}。相近的选项:{near}"),
    ("No such option: {name} Did you mean {near}?", "没有选项 {name}。是否想输入 {near}?"),
    ("No such option: {name}", "没有选项 {name}。"),
    ("Got unexpected extra argument(s) ({words})", "多余的参数:{words}"),
    ("Option {name} requires an argument.", "选项 {name} 需要一个值。"),
    ("Option {name} requires {number} arguments.", "选项 {name} 需要 {number} 个值。"),
    ("Option {name} does not take a value.", "选项 {name} 不接受值。"),
    ("Argument {name} takes {number} values.", "参数 {name} 需要 {number} 个值。"),
    ("Invalid value for {name}: {cause}", "{name} 的值无效:{cause}"),
    ("Invalid value: {cause}", "值无效:{cause}"),
    ("{value} is not one of {choices}.", "{value} 不在可选值之中:{choices}。"),
    ("{number} values are required, but {given} given.", "需要 {number} 个值,但给出了 {given} 个。"),
    ("{value} does not match the formats {choices}.", "{value} 不符合以下格式:{choices}。"),
    ("Value {value} is not a valid {kind}.", "{value} 不是有效的 {kind} 值。"),
)
_CAUSES: Final = {
    "Input should be a valid integer, unable to parse string as an integer": "应为整数。",
    "Input should be a valid integer": "应为整数。",
    "Input should be a valid number, unable to parse string as a number": "应为数字。",
    "Input should be a valid number": "应为数字。",
    "Input should be a valid boolean, unable to interpret input": "应为 true 或 false。",
    "Input is not a valid path": "应为路径。",
}
_BOUNDS: Final = (
    ("Input should be greater than or equal to {number}", "不能小于 {number}。"),
    ("Input should be less than or equal to {number}", "不能大于 {number}。"),
    ("Input should be greater than {number}", "必须大于 {number}。"),
    ("Input should be less than {number}", "必须小于 {number}。"),
)
_FACTS: Final = {"number": r"-?[\d.]+", "given": r"\d+"}


def usage_in_chinese(text: str) -> str:
    """Translate a usage error; one that is not in the table stays English."""
    return translate(" ".join(text.split()), _patterns(), "cause", _CAUSES)


@cache
def _patterns() -> tuple[SentencePattern, ...]:
    return tuple(sentence_pattern(*each, _FACTS) for each in (*SENTENCES, *_BOUNDS))
