"""PostgreSQL array literals: values round-trip."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.stores.postgres.arrays import encode_array
from tests.servers.postgres import PostgresServer

AWKWARD = ["", " ", "NULL", "null", '"', '""', "\\", '\\"', ",", "{", "}", "{}", "\n", "\t", "'", "任务", "🌱", "None"]
TEXTS = st.lists(
    st.one_of(
        st.none(),
        st.sampled_from(AWKWARD),
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
        st.lists(st.sampled_from(AWKWARD), max_size=4).map("".join),
    ),
    max_size=8,
)
NUMBERS = st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=8)


@pytest.fixture(scope="module")
def ask(postgres_server: PostgresServer) -> Iterator[Any]:
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(postgres_server.url))
        yield lambda sql, value: runner.run(connection.fetchval(sql, value))
        connection.terminate()


@given(values=TEXTS)
@settings(max_examples=200, deadline=None)
def test_text_arrays_round_trip(ask: Any, values: list[str | None]) -> None:
    assert ask("SELECT $1::text::text[]", encode_array(values)) == values


@given(values=NUMBERS)
@settings(max_examples=100, deadline=None)
def test_number_arrays_round_trip(ask: Any, values: list[int | None]) -> None:
    assert ask("SELECT $1::text::bigint[]", encode_array(values)) == values


@pytest.mark.parametrize("values", [[text, other] for text in AWKWARD for other in ("plain", None, '"')])
def test_each_hostile_text_round_trips_among_others(ask: Any, values: list[str | None]) -> None:
    assert ask("SELECT $1::text::text[]", encode_array(values)) == values
    assert ask("SELECT $1::text::text[]", encode_array(tuple(values))) == values


@pytest.mark.parametrize("values", [["a\0b"], ["\0", None], ['"\0"', "\\"]])
def test_nul_character_is_replaced(ask: Any, values: list[str | None]) -> None:
    wanted = [None if value is None else value.replace("\0", "\ufffd") for value in values]
    assert ask("SELECT $1::text::text[]", encode_array(values)) == wanted
