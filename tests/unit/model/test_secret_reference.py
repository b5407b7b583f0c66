"""References to secrets in the JSON of a target, and the agent that made a task."""

from __future__ import annotations

from horae.model.accounts.account import agent_of
from horae.model.accounts.principal import AGENT_LABEL
from horae.model.accounts.secret_reference import SecretPlace, secret_name, secret_names, secret_places
from horae.testing.factories import a_task


def test_references_are_found_with_their_places() -> None:
    value = {"a": {"secret": "one"}, "b": ["x", {"secret": "two"}, {"deep": {"secret": "three"}}], "c": 7}
    assert list(secret_places(value, ("target",))) == [
        SecretPlace("one", ("target", "a")),
        SecretPlace("two", ("target", "b", 1)),
        SecretPlace("three", ("target", "b", 2, "deep")),
    ]
    assert list(secret_names(value)) == ["one", "two", "three"]


def test_other_objects_are_no_references() -> None:
    for value in ({"secret": 7}, {"secret": "a", "more": 1}, {}, "secret", None, ["secret"]):
        assert secret_name(value) is None


def test_agent_of_a_task_is_what_the_label_says() -> None:
    assert agent_of(a_task()) is None
    labels = (("team", "ops"), (AGENT_LABEL, "robot"))
    assert agent_of(a_task()._replace(labels=labels)) == "robot"
    assert agent_of(a_task()._replace(labels=labels[:1])) is None
