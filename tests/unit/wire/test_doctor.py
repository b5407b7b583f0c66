"""Reports of the doctor as JSON: both languages, braces, and checks of newer versions."""

from __future__ import annotations

import pytest

from horae.message import Message
from horae.ports.doctor import DoctorReport, Fix, make_check
from horae.testing.factories import NOON
from horae.wire.doctor import read_report, report_json

WORDS = Message("{number} lanes are shut: {names}", "{number} 个通道已关闭:{names}")
FIX = Fix(Message("horae lane {{NAME}} 1", "horae lane {{名称}} 1"), "horae lane NAME 1")
REPORT = DoctorReport(
    NOON,
    (
        make_check("lanes", "warning", WORDS, FIX, number=1, names="a{x}, b"),
        make_check("integrity", "ok", Message("fine", "正常"))._replace(checked_at=NOON),
    ),
)


def test_report_is_read_back_with_its_sentences() -> None:
    for language, sentence, fix in (
        ("en", "1 lane is shut: a{x}, b", "horae lane {NAME} 1"),
        ("zh", "1 个通道已关闭：a{x}、b", "horae lane {名称} 1"),
    ):
        data = report_json(REPORT, "zh" if language == "zh" else "en")
        assert (data["errors"], data["warnings"]) == (0, 1)
        assert (data["checks"][0]["message"], data["checks"][0]["fix"]) == (sentence, fix)
        lanes, integrity = read_report(data).checks
        assert lanes.message.in_language("zh" if language == "zh" else "en") == sentence
        assert lanes.fix is not None
        assert (lanes.grade, lanes.fix.command, integrity.checked_at) == ("warning", "horae lane NAME 1", NOON)


def test_unknown_check_is_kept_and_unknown_grade_refused() -> None:
    data = report_json(REPORT, "en")
    data["checks"][1]["check"] = "of_tomorrow"
    assert [each.group for each in read_report(data).checks] == ["nodes", "server"]
    data["checks"][1]["grade"] = "purple"
    with pytest.raises(ValueError, match="purple"):
        read_report(data)
