"""Hostile import files are refused with a code and a hint, quickly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from horae.errors import Refusal
from horae.interchange import crontab, nanoclaw, openclaw
from horae.interchange.files import MAX_DEPTH, MAX_FILE_BYTES, decode_text, read_bytes, read_json


def code_of(data: bytes | str) -> str:
    with pytest.raises(Refusal) as refused:
        read_json(data)
    assert refused.value.hint
    assert len(str(refused.value)) < 400
    return refused.value.code


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "import_bad_json"),
        (b"{", "import_bad_json"),
        (b'{"a": 1, "a": 2}', "import_duplicate_key"),
        (b'[{"a": {"b": 1, "b": 1}}]', "import_duplicate_key"),
        (b"[NaN]", "import_bad_json"),
        (b"[-Infinity]", "import_bad_json"),
        (b"[1e999]", "import_bad_json"),
        (b"[" + b"9" * 10_000 + b"]", "import_bad_json"),
        (b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2), "import_too_deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "import_too_deep"),
        (b"[" * 1_000_000, "import_too_deep"),
        (b'["\xff"]', "import_bad_utf8"),
        (b'["a\x00b"]', "import_binary"),
        (b" " * 10_000_000, "import_too_large"),
        (" " * 10_000_000, "import_too_large"),
        ("\ud800", "import_bad_utf8"),
    ],
)
def test_json_that_is_refused(data: bytes | str, code: str) -> None:
    assert code_of(data) == code


def test_json_that_is_just_within_the_bounds() -> None:
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert read_json(b'\xef\xbb\xbf{"a": [1, 2.5, "\\u4e2d"]}') == {"a": [1, 2.5, "中"]}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"0 5 * * * /bin/a\xff", "import_bad_utf8"),
        (b"0 5 * * * /bin/a\x00", "import_binary"),
        (b"\x7fELF\x02\x00\xff\xff", "import_binary"),
        (b"#" * 10_000_000, "import_too_large"),
        (b"\n" * 20_000, "import_too_many"),
        ("\n".join(f"A{number}=x" for number in range(200)), "import_too_many"),
        ("A=" + "x" * 100_000, "import_too_many"),
    ],
)
def test_crontabs_that_are_refused(data: bytes | str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        crontab.read(data, zone="UTC", user="ann")
    assert refused.value.code == code


@pytest.mark.parametrize("part", ["*", "\\", "'", '"', "%", "#", " ", "\t", "a=", "$(", "@", "0 "])
def test_very_long_line_is_parsed_in_linear_time(part: str) -> None:
    """Whatever goes over it more than a few times would not end here."""
    line = part * (MAX_FILE_BYTES // 4 // len(part))
    for text in (line, f"0 5 * * * {line}", f"A={line}", f"# {line}\n0 5 * * * /bin/a"):
        try:
            harvest = crontab.read(text, zone="UTC", user="ann")
        except Refusal as refusal:
            assert refusal.code == "import_too_many"
        else:
            assert all(len(unclear.text) <= 200 for unclear in harvest.rejected)


def test_too_many_jobs_and_groups_are_refused() -> None:
    with pytest.raises(Refusal) as refused:
        openclaw.read("[" + "1," * 20_000 + "1]", zone="UTC")
    assert refused.value.code == "import_too_many"
    with pytest.raises(Refusal) as refused:
        nanoclaw.read_groups("[]")
    assert refused.value.code == "import_no_groups"


class TestPaths:
    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "crontab").write_bytes(b"# nothing\n")
        assert decode_text(read_bytes(tmp_path / "crontab")) == "# nothing\n"

    def test_a_pipe_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        self.refused(tmp_path / "pipe", "import_not_a_file")

    def test_path_that_is_no_regular_file_is_refused(self, tmp_path: Path) -> None:
        self.refused(tmp_path, "import_not_a_file")
        self.refused(Path("/dev/zero"), "import_not_a_file")
        self.refused(tmp_path / "absent", "import_no_file")
        self.refused(tmp_path / "file\0name", "import_no_file")
        self.refused(tmp_path / ("x" * 5_000), "import_unreadable")

    def test_a_file_that_is_too_large_is_not_read_to_its_end(self, tmp_path: Path) -> None:
        with (tmp_path / "huge").open("wb") as file:
            file.truncate(1 << 40)
        self.refused(tmp_path / "huge", "import_too_large")

    def refused(self, path: Path, code: str) -> None:
        with pytest.raises(Refusal) as refused:
            read_bytes(path)
        assert refused.value.code == code
