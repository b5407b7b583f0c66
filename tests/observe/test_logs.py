"""Each line says of which request, task, run and trace it is; and no secret stands in any of them, however loud it is."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from horae.errors import InvalidTask
from horae.observe.logs import bind_ids, configure_logging, mask_text, mask_value
from tests.api.served import served
from tests.observe.stage import staged

TOKEN = f"horae_{'0a' * 16}_{'f9' * 32}"
LEAKS = [
    (f"token {TOKEN} came", "f9f9"),
    ("Authorization: Bearer abcdef123456", "abcdef123456"),
    ("authorization=Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("{'authorization': 'Bearer abcdef123456'}", "abcdef123456"),
    ('{"api_key": "k-123456"}', "k-123456"),
    ("cannot open postgresql://horae:s3cret@db.example.com/horae", "s3cret"),
    ("mysql://db/x?password=s3cret&tls=1", "s3cret"),
    ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw signs", "MfKQ9r8G"),
    (f"callback {'0123456789abcdef' * 4}", "0123456789abcdef"),
    ("Set-Cookie: session=abc123456", "abc123456"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----", "MIIEvQ"),
    ("client_secret: 'shh-very'", "shh-very"),
]


@pytest.fixture
def heard() -> Iterator[io.StringIO]:
    """What was logged; afterwards everything is as it was."""
    root, ours = logging.getLogger(), logging.getLogger("horae")
    before = root.handlers[:], root.level, ours.level
    yield io.StringIO()
    root.handlers[:], root.level = before[0], before[1]
    ours.setLevel(before[2])


def fail(said: str) -> None:
    raise ValueError(said)


def lines(heard: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in heard.getvalue().splitlines()]


@pytest.mark.parametrize(("said", "secret"), LEAKS)
@pytest.mark.parametrize("manner", ["text", "json"])
def test_no_secret_gets_out(heard: io.StringIO, manner: str, said: str, secret: str) -> None:
    configure_logging(manner, "debug", heard)
    log = logging.getLogger("horae.test")
    log.debug(said)
    log.info("%s", said)
    log.warning("as data", extra={"told": {"deep": [said], "password": secret}, "token": secret})
    try:
        fail(said)
    except ValueError:
        log.exception("it failed")
    text = heard.getvalue()
    assert secret not in text
    assert text.count("***") >= 4 if manner == "json" else text.count("***") >= 3


def test_what_is_no_secret_stays() -> None:
    for said in (
        "the run run_0199f3aa of tsk_0199f3bb succeeded in 3 ms",
        "https://example.com/path?a=1",
        "req_8d7a0c7c4441000001 GET /v1/tokens failed",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ):
        assert mask_text(said) == said
    assert mask_value({"at": 3, "list": [1, None, True]}) == {"at": 3, "list": [1, None, True]}


async def test_a_line_says_what_it_is_about(heard: io.StringIO) -> None:
    configure_logging("json", "info", heard)

    async def one(number: int) -> None:
        bind_ids(request=f"req_{number}")
        await asyncio.sleep(0)  # noqa: TID251 - only to let the other one in between
        bind_ids(run=f"run_{number}")
        logging.getLogger("horae").info("step %d", number)

    await asyncio.gather(one(1), one(2))
    logging.getLogger("horae").info("nobody's")
    found = {line["event"]: line for line in lines(heard)}
    for number in (1, 2):
        line = found[f"step {number}"]
        assert (line["request"], line["run"], line["level"]) == (f"req_{number}", f"run_{number}", "info")
        assert line["logger"] == "horae"
        assert line["at"].endswith("Z")
    assert "request" not in found["nobody's"]


async def test_lines_of_a_real_run_and_a_real_request(heard: io.StringIO, tmp_path: Path) -> None:
    configure_logging("json", "debug", heard)
    async with staged() as stage, served(f"sqlite:///{tmp_path}/h.db") as other:
        _, run = await stage.ran("broken")
        await other.service.store.close()
        trace = {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "X-Request-Id": "mine-1"}
        reply = await other.get("/v1/tasks", who="ada", headers=trace)
        assert reply.status == 503
        tokens = other.tokens
    text = heard.getvalue()
    assert "hunter2" not in text
    for token in tokens.values():
        assert token.rsplit("_", 1)[1] not in text
    told = lines(heard)
    (failed,) = [line for line in told if "attempt 1" in line["event"]]
    assert (failed["task"], failed["run"], failed["trace"]) == (run["task_id"], run["id"], run["trace_id"])
    asked = [line for line in told if line.get("request") == "mine-1"]
    assert asked
    assert all(line["trace"] == "ab" * 16 for line in asked)


def test_libraries_say_little(heard: io.StringIO) -> None:
    configure_logging("text", "debug", heard)
    logging.getLogger("some.library").debug("every byte that came")
    logging.getLogger("some.library").warning("something odd")
    logging.getLogger("horae.web").debug("ours")
    assert "every byte" not in heard.getvalue()
    assert "something odd" in heard.getvalue()
    assert "ours" in heard.getvalue()


@pytest.mark.parametrize(("manner", "level"), [("xml", "info"), ("json", "loud"), ("", "info")])
def test_a_word_that_nobody_knows_is_refused(manner: str, level: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        configure_logging(manner, level)
    assert refused.value.code == "bad_choice"


def test_nothing_warns_of_the_way_lines_are_made(heard: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        configure_logging("json", "debug", heard)
        logging.getLogger("horae").error("a %s", "b", extra={"more": {1, 2}})
    assert lines(heard)[0]["event"] == "a b"


@pytest.mark.parametrize("manner", ["text", "json"])
def test_a_log_file_has_the_lines_of_standard_error_and_survives_rotation(
    heard: io.StringIO, tmp_path: Path, manner: str
) -> None:
    file = tmp_path / "horae.log"
    configure_logging(manner, "info", heard, file=str(file))
    log = logging.getLogger("horae")
    log.warning("before %s", TOKEN)
    file.rename(tmp_path / "horae.log.1")
    log.warning("after")

    configure_logging(manner, "info", heard)
    log.warning("to standard error alone")

    rotated, fresh = (tmp_path / "horae.log.1").read_text(), file.read_text()
    assert (rotated.count("\n"), fresh.count("\n"), heard.getvalue().count("\n")) == (1, 1, 3)
    assert "before" in rotated
    assert "f9f9" not in rotated
    assert "after" in fresh


def test_a_log_file_without_its_folder_is_refused(heard: io.StringIO, tmp_path: Path) -> None:
    with pytest.raises(InvalidTask) as refusal:
        configure_logging("text", "info", heard, file=str(tmp_path / "absent" / "horae.log"))
    assert refusal.value.code == "log_file_unusable"
