"""Log lines: ids of request, task, run and trace; masked secrets; levels, formats and the log file."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import pytest

from horae.errors import InvalidTask
from horae.observe.logs import bind_ids, configure_logging, mask_text, mask_value
from tests.api.api_server import serve_api
from tests.observe.observed_app import run_observed_app

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


def fail(message: str) -> None:
    raise ValueError(message)


def parse_lines(log_output: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log_output.getvalue().splitlines()]


@pytest.mark.parametrize(("message", "secret"), LEAKS)
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_secrets_are_masked(log_output: io.StringIO, log_format: str, message: str, secret: str) -> None:
    configure_logging(log_format, "debug", log_output)
    log = logging.getLogger("horae.test")
    log.debug(message)
    log.info("%s", message)
    log.warning("as data", extra={"data": {"deep": [message], "password": secret}, "token": secret})
    try:
        fail(message)
    except ValueError:
        log.exception("it failed")
    text = log_output.getvalue()
    assert secret not in text
    assert text.count("***") >= 4 if log_format == "json" else text.count("***") >= 3


def test_other_text_is_not_masked() -> None:
    for message in (
        "the run run_0199f3aa of tsk_0199f3bb succeeded in 3 ms",
        "https://example.com/path?a=1",
        "req_8d7a0c7c4441000001 GET /v1/tokens failed",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ):
        assert mask_text(message) == message
    assert mask_value({"at": 3, "list": [1, None, True]}) == {"at": 3, "list": [1, None, True]}


async def test_line_has_the_ids_bound_in_its_task(log_output: io.StringIO) -> None:
    configure_logging("json", "info", log_output)

    async def one(number: int) -> None:
        bind_ids(request=f"req_{number}")
        await asyncio.sleep(0)  # noqa: TID251 - lets the other coroutine run in between
        bind_ids(run=f"run_{number}")
        logging.getLogger("horae").info("step %d", number)

    await asyncio.gather(one(1), one(2))
    logging.getLogger("horae").info("without ids")
    found = {line["event"]: line for line in parse_lines(log_output)}
    for number in (1, 2):
        line = found[f"step {number}"]
        assert (line["request"], line["run"], line["level"]) == (f"req_{number}", f"run_{number}", "info")
        assert line["logger"] == "horae"
        assert line["at"].endswith("Z")
    assert "request" not in found["without ids"]


async def test_lines_of_a_run_and_a_request_have_their_ids(log_output: io.StringIO, tmp_path: Path) -> None:
    configure_logging("json", "debug", log_output)
    async with run_observed_app() as observed, serve_api(f"sqlite:///{tmp_path}/h.db") as other:
        _, run = await observed.run_once("broken")
        await other.service.store.close()
        trace = {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "X-Request-Id": "mine-1"}
        reply = await other.get("/v1/tasks", who="ada", headers=trace)
        assert reply.status == 503
        tokens = other.tokens
    text = log_output.getvalue()
    assert "hunter2" not in text
    for token in tokens.values():
        assert token.rsplit("_", 1)[1] not in text
    logged = parse_lines(log_output)
    (failed,) = [line for line in logged if "attempt 1" in line["event"]]
    assert (failed["task"], failed["run"], failed["trace"]) == (run["task_id"], run["id"], run["trace_id"])
    of_request = [line for line in logged if line.get("request") == "mine-1"]
    assert of_request
    assert all(line["trace"] == "ab" * 16 for line in of_request)


def test_libraries_log_warnings_only(log_output: io.StringIO) -> None:
    configure_logging("text", "debug", log_output)
    logging.getLogger("some.library").debug("every byte that came")
    logging.getLogger("some.library").warning("something odd")
    logging.getLogger("horae.web").debug("ours")
    assert "every byte" not in log_output.getvalue()
    assert "something odd" in log_output.getvalue()
    assert "ours" in log_output.getvalue()


@pytest.mark.parametrize(("log_format", "level"), [("xml", "info"), ("json", "loud"), ("", "info")])
def test_unknown_format_or_level_is_refused(log_format: str, level: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        configure_logging(log_format, level)
    assert refused.value.code == "bad_choice"


def test_logging_raises_no_warnings(log_output: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        configure_logging("json", "debug", log_output)
        logging.getLogger("horae").error("a %s", "b", extra={"more": {1, 2}})
    assert parse_lines(log_output)[0]["event"] == "a b"


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_log_file_has_the_lines_of_standard_error_and_survives_rotation(
    log_output: io.StringIO, tmp_path: Path, log_format: str
) -> None:
    file = tmp_path / "horae.log"
    configure_logging(log_format, "info", log_output, file=str(file))
    log = logging.getLogger("horae")
    log.warning("before %s", TOKEN)
    file.rename(tmp_path / "horae.log.1")
    log.warning("after")

    configure_logging(log_format, "info", log_output)
    log.warning("to standard error alone")

    rotated, fresh = (tmp_path / "horae.log.1").read_text(), file.read_text()
    assert (rotated.count("\n"), fresh.count("\n"), log_output.getvalue().count("\n")) == (1, 1, 3)
    assert "before" in rotated
    assert "f9f9" not in rotated
    assert "after" in fresh


def test_log_file_in_a_missing_folder_is_refused(log_output: io.StringIO, tmp_path: Path) -> None:
    with pytest.raises(InvalidTask) as refusal:
        configure_logging("text", "info", log_output, file=str(tmp_path / "absent" / "horae.log"))
    assert refusal.value.code == "log_file_unusable"
