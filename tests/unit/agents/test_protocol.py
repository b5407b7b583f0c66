"""Protocol between host and agent: strict documents, and results found in any chunking with bounded memory."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.agents.protocol import (
    SCHEDULED_TASK_PREFIX,
    AgentInput,
    AgentResult,
    BadResult,
    InputMessage,
    ProtocolError,
    ResultParser,
    Usage,
    read_input,
    read_input_file,
    read_result,
    write_input,
    write_input_file,
    write_result,
)

SMALLEST = {"prompt": "hello", "groupFolder": "main", "chatJid": "web:1", "isMain": True}
NANOCLAW = (
    b'---NANOCLAW_OUTPUT_START---\n{"status":"success","result":"hi","newSessionId":"s1"}\n---NANOCLAW_OUTPUT_END---\n'
)

texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["", "\n", "---HORAE_OUTPUT_END---", "a\n---HORAE_OUTPUT_END---\nb", "早上好"]
)
counts = st.none() | st.integers(0, 10**9)
usages = st.builds(
    Usage,
    input_tokens=counts,
    output_tokens=counts,
    cost=st.none() | st.floats(0, 1e6),
    model=st.none() | texts,
)
results = st.builds(
    AgentResult,
    status=st.sampled_from(["success", "error"]),
    result=st.none() | texts,
    new_session_id=st.none() | texts,
    error=st.none() | texts,
    usage=st.none() | usages,
)
inputs = st.builds(
    AgentInput,
    prompt=texts,
    group_folder=texts,
    chat_jid=texts,
    is_main=st.booleans(),
    session_id=st.none() | texts,
    is_scheduled_task=st.booleans(),
    assistant_name=st.none() | texts,
    script=st.none() | texts,
    secrets=st.dictionaries(texts, texts, max_size=3),
)
noise = st.sampled_from(
    [
        b"plain text\n",
        b"unfinished line",
        b"\xff\xfe\n",
        b"---HORAE_OUTPUT_START---\nnot json\n---HORAE_OUTPUT_END---\n",
        b"---HORAE_OUTPUT_START---\n",
        b"---HORAE_OUTPUT_END---\n",
        b"  ---HORAE_OUTPUT_START---\t\r\n",
        b"x" * 300,
        b"---HORAE_OUTPUT_START---\n" + b"y" * 600 + b"\n---HORAE_OUTPUT_END---\n",
        NANOCLAW,
    ]
)


def parse(*chunks: bytes, max_result_bytes: int = 512) -> list[AgentResult | BadResult]:
    parser = ResultParser(max_result_bytes)
    return [each for chunk in chunks for each in parser.feed(chunk)] + parser.finish()


@given(inputs)
def test_input_document_is_read_as_it_was_written(value: AgentInput) -> None:
    assert read_input(write_input(value)) == value


@given(results)
def test_result_is_parsed_as_it_was_written(value: AgentResult) -> None:
    assert parse(write_result(value), max_result_bytes=10_000) == [value]


@given(texts)
def test_input_file_is_read_as_it_was_written(text: str) -> None:
    assert read_input_file(write_input_file(InputMessage(text))) == InputMessage(text)


@given(st.lists(noise | results.map(write_result), max_size=6), st.lists(st.integers(0, 3_000), max_size=12))
@settings(max_examples=200)
def test_every_chunking_gives_the_same_results(parts: list[bytes], cuts: list[int]) -> None:
    output = b"".join(parts)
    places = [0, *sorted(min(cut, len(output)) for cut in cuts), len(output)]
    chunks = [output[start:end] for start, end in pairwise(places)]
    assert parse(*chunks) == parse(output)


def test_every_single_split_and_every_byte_alone_give_the_same_results() -> None:
    output = (
        b"log" + write_result(AgentResult(status="success", result="早")) + NANOCLAW + b"---HORAE_OUTPUT_START---\n{"
    )
    whole = parse(output)
    assert [type(each) for each in whole] == [AgentResult, AgentResult, BadResult]
    for cut in range(len(output) + 1):
        assert parse(output[:cut], output[cut:]) == whole
    assert parse(*(output[at : at + 1] for at in range(len(output)))) == whole


def test_results_of_nanoclaw_are_accepted() -> None:
    assert parse(b"starting" + NANOCLAW) == [AgentResult(status="success", result="hi", new_session_id="s1")]


def test_end_marker_of_the_other_kind_does_not_end_a_result() -> None:
    (bad,) = parse(b'---HORAE_OUTPUT_START---\n{"status":"success"}\n---NANOCLAW_OUTPUT_END---\n')
    assert isinstance(bad, BadResult)
    assert bad.code == "no_end_marker"


def test_marker_inside_a_text_of_the_result_is_text() -> None:
    value = AgentResult(status="success", result="---HORAE_OUTPUT_END---\n---HORAE_OUTPUT_START---")
    assert parse(write_result(value)) == [value]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"not json", "not_json"),
        (b"[]", "not_an_object"),
        (b"\xff", "not_json"),
        (b"", "not_json"),
        (b'{"status":"done"}', "unknown_status"),
        (b'{"result":"x"}', "missing_field"),
        (b'{"status":"success","result":1}', "wrong_type"),
        (b'{"status":"success","status":"error"}', "duplicate_field"),
        (b'{"status":"success","usage":{"cost":NaN}}', "not_json"),
        (b'{"status":"success","usage":{"cost":1e999}}', "not_json"),
        (b'{"status":"success","usage":{"cost":-1}}', "wrong_type"),
        (b'{"status":"success","usage":{"cost":' + b"9" * 400 + b"}}", "wrong_type"),
        (b'{"status":"success","usage":{"inputTokens":true}}', "wrong_type"),
        (b'{"status":"success","usage":[]}', "wrong_type"),
        (b"[" * 100_000, "too_long"),
        (b"x" * 513, "too_long"),
    ],
)
def test_bad_result_is_reported_and_the_next_one_is_read(body: bytes, code: str) -> None:
    bad, good = parse(b"---HORAE_OUTPUT_START---\n" + body + b"\n---HORAE_OUTPUT_END---\n" + NANOCLAW)
    assert isinstance(bad, BadResult)
    assert bad.code == code
    assert isinstance(good, AgentResult)


def test_deeply_nested_document_is_refused() -> None:
    with pytest.raises(ProtocolError) as refused:
        read_result(b'{"status":' + b"[" * 100_000, 1_000_000)
    assert refused.value.code == "not_json"


@pytest.mark.parametrize("start", [b"", b"---HORAE_OUTPUT_START---\n"])
@pytest.mark.parametrize("chunk", [b"x" * 65_536, b"line\n" * 10_000])
def test_endless_output_takes_bounded_memory(start: bytes, chunk: bytes) -> None:
    parser = ResultParser(4_096)
    parser.feed(start)
    for _ in range(50):
        assert parser.feed(chunk) == []
        assert parser.buffered_bytes <= 2 * 4_096
    assert [each.code for each in parser.finish() if isinstance(each, BadResult)] == (
        ["no_end_marker"] if start else []
    )


def test_new_start_marker_ends_a_result_without_end_marker() -> None:
    bad, good = parse(b"---HORAE_OUTPUT_START---\n{" + write_result(AgentResult(status="success")))
    assert isinstance(bad, BadResult)
    assert (bad.code, bad.excerpt) == ("no_end_marker", "{")
    assert good == AgentResult(status="success")


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"prompt": None}, "wrong_type", "/prompt"),
        ({"isMain": "yes"}, "wrong_type", "/isMain"),
        ({"isScheduledTask": 1}, "wrong_type", "/isScheduledTask"),
        ({"sessionId": 5}, "wrong_type", "/sessionId"),
        ({"secrets": {"a/b": 5}}, "wrong_type", "/secrets/a~1b"),
        ({"secrets": []}, "wrong_type", "/secrets"),
        ({"colour": "red"}, "unknown_field", "/colour"),
    ],
)
def test_wrong_input_document_is_refused_with_a_pointer(change: dict[str, Any], code: str, pointer: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        read_input(json.dumps(SMALLEST | change).encode())
    assert (refused.value.code, refused.value.pointer) == (code, pointer)


@pytest.mark.parametrize("name", SMALLEST)
def test_missing_field_of_the_input_is_refused(name: str) -> None:
    rest = {key: value for key, value in SMALLEST.items() if key != name}
    with pytest.raises(ProtocolError) as refused:
        read_input(json.dumps(rest).encode())
    assert (refused.value.code, refused.value.pointer) == ("missing_field", f"/{name}")


@pytest.mark.parametrize("data", [b"", b"{", b"null", b'{"type":"message"}', b'{"type":"order","text":"x"}', b"\xff"])
def test_bad_input_file_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_input_file(data)


def test_optional_fields_may_be_null() -> None:
    read = read_input(json.dumps(SMALLEST | {"sessionId": None, "script": None, "secrets": None}).encode())
    assert (read.session_id, read.script, read.secrets) == (None, None, {})


def test_secrets_are_not_in_the_repr() -> None:
    value = AgentInput(prompt="p", group_folder="g", chat_jid="c", is_main=False, secrets={"KEY": "hush-hush"})
    assert "hush-hush" not in repr(value)


def test_prompt_of_a_scheduled_task_has_the_exact_prefix() -> None:
    assert SCHEDULED_TASK_PREFIX == (
        "[SCHEDULED TASK - The following message was sent automatically and is not coming directly from the user or group.]\n\n"
    )
    value = read_input(json.dumps(SMALLEST | {"isScheduledTask": True}).encode())
    assert value.full_prompt == SCHEDULED_TASK_PREFIX + "hello"
    assert read_input(json.dumps(SMALLEST).encode()).full_prompt == "hello"


def test_result_without_text_has_the_field_result() -> None:
    assert b'"result":null' in write_result(AgentResult(status="success"))
