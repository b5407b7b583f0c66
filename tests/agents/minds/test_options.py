"""Options of `horae-agent`: wrong ones are refused with a hint that works as written."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

import pytest

from horae.agents.runner.main import main
from horae.agents.runner.mind_options import add_mind_options, has_model_socket

OPENAI = ["--mind", "openai", "--model", "m", "--base-url", "http://127.0.0.1:8080/v1"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--mind", "openai", "--base-url", "http://h/v1"], "horae-agent --mind openai --model gpt-5-mini"),
        (["--mind", "openai", "--model", "m"], "horae-agent --mind openai --base-url http://127.0.0.1:8080/v1"),
        ([*OPENAI, "--base-url", "ftp://h"], "is not a URL such as http://127.0.0.1:8080/v1"),
        ([*OPENAI, "--base-url", "http://user:key@h/v1"], "is not a URL"),
        ([*OPENAI, "--base-url", "http://h/v1?key=x"], "is not a URL"),
        ([*OPENAI, "--zone", "Mars/Olympus"], "is not a time zone that is known here, such as Asia/Shanghai"),
        ([*OPENAI, "--zone", "../../etc/passwd"], "is not a time zone"),
        ([*OPENAI, "--max-rounds", "0"], "is not a whole number from 1 to 1000000"),
        ([*OPENAI, "--price-input", "nan"], "is not a number above 0"),
        ([*OPENAI, "--price-input", "x"], "is not a number above 0"),
        ([*OPENAI, "--mcp-server", "w='"], "is not NAME=COMMAND, such as 'weather=python3 -m weather'"),
        ([*OPENAI, "--mcp-server", "python3"], "is not NAME=COMMAND"),
        ([*OPENAI, "--mcp-server", "horae=python3"], "is not NAME=COMMAND"),
        ([*OPENAI, "--", "program"], "horae-agent --mind command -- program"),
        (["--mind", "command"], "horae-agent --mind command -- PROGRAM"),
        (["--mind", "x"], "invalid choice"),
    ],
)
def test_wrong_option_is_refused_with_a_hint(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert expected in capsys.readouterr().err


def test_socket_of_the_model_replaces_the_base_url(tmp_path: Path) -> None:
    """The socket is forwarded to a free port, so that both minds reach it over HTTP."""
    parser = argparse.ArgumentParser()
    add_mind_options(parser)
    path = tmp_path / "s"
    options = parser.parse_args(["--mind", "openai", "--model", "m", "--model-socket", str(path)])
    assert not has_model_socket(options)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
        assert has_model_socket(options)
        assert not has_model_socket(parser.parse_args(["--model-socket", str(path)])), "echo needs no model"


def test_missing_library_is_named_with_its_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.agents.runner.mind_options.find_spec", lambda _: None)
    with pytest.raises(SystemExit):
        main(OPENAI)
    assert "pip install 'horae[http]'" in capsys.readouterr().err


def test_help_names_the_minds_and_shows_no_secret_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert "{echo,command,openai" in text
    assert "--key" not in text
