"""Refused arguments of the library: payloads without names, unknown names, blank texts, an empty zone."""

from __future__ import annotations

from typing import Any

import pytest

from horae import Horae, InvalidSchedule, InvalidTask, Refusal


async def schedule(payload: Any = None, **options: Any) -> None:
    app = Horae("memory://", engine=False)

    @app.task(name="greet")
    async def greet(who: str = "you", times: int = 1) -> None: ...

    async with app:
        await app.schedule("greet", "in 1h", payload, **options)


async def refusal_of(payload: Any = None, **options: Any) -> Refusal:
    with pytest.raises(Refusal) as refused:
        await schedule(payload, **options)
    return refused.value


@pytest.mark.parametrize("payload", [[3], 3, "ada", ("ada",)])
async def test_payload_without_argument_names_is_refused(payload: Any) -> None:
    refused = await refusal_of(payload)
    assert refused.code == "payload_not_named"
    assert "JSON" not in str(refused)
    assert "{'who': ...}" in refused.hint


async def test_unknown_argument_is_refused_with_the_known_ones() -> None:
    refused = await refusal_of({"whom": "ada"})
    assert (refused.code, refused.message) == ("unknown_argument", "greet has no argument 'whom'.")
    assert refused.hint == "Its arguments are: who, times."
    assert "who, times" in refused.in_language("zh").hint


async def call_with_too_many() -> None:
    app = Horae("memory://", engine=False)

    @app.task(name="greet")
    async def greet(who: str) -> None: ...

    async with app:
        await greet.now("ada", "bob")


async def test_too_many_positional_arguments_are_refused_with_the_count() -> None:
    with pytest.raises(InvalidTask) as refused:
        await call_with_too_many()
    assert refused.value.message == "greet takes 1 argument, and 2 were given."


async def schedule_many(items: list[Any]) -> None:
    async with Horae("memory://", engine=False) as app:
        await app.schedule_many(items)


async def test_item_of_schedule_many_that_is_no_pair_is_refused() -> None:
    with pytest.raises(InvalidTask) as refused:
        await schedule_many(["greet"])
    assert refused.value.code == "bad_item"


@pytest.mark.parametrize("field", ["name", "key", "owner", "lane"])
@pytest.mark.parametrize("text", ["", " ", "\u3000"])
async def test_blank_texts_are_refused(field: str, text: str) -> None:
    assert (await refusal_of(**{field: text})).code == "bad_text"


@pytest.mark.parametrize("zone", ["", " "])
async def test_an_empty_zone_is_refused(zone: str) -> None:
    assert (await refusal_of(zone=zone)).code == "unknown_zone"
    with pytest.raises(InvalidSchedule):
        Horae("memory://", zone=zone)
    app = Horae("memory://")
    with pytest.raises(InvalidSchedule):
        app.task("every day at 9am", zone=zone)(lambda: None)


def test_a_function_with_a_blank_name_is_refused() -> None:
    with pytest.raises(InvalidTask):
        Horae("memory://").task(name=" ")(lambda: None)
