"""The rules of headers and arguments hold for the result of a substitution, not only for the template."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.inputs.placeholders import check_placeholders, fill_placeholders, recognise_template
from horae.model.task import Target
from horae.outgoing.addresses import Networks
from horae.targets.command.programs import Programs
from horae.targets.command.settings import read_settings
from horae.targets.command.spec import check_spec
from horae.targets.http.spec import read_spec
from horae.testing.factories import a_run, a_task


def fill(kind: str, spec: dict[str, Any], previous: str) -> dict[str, Any]:
    task = recognise_template(a_task(target=Target(kind, json.dumps(spec))))
    check_placeholders(task)
    filled = fill_placeholders(task, a_run(task), "key", previous)
    return dict(json.loads(filled.target.spec))


@pytest.mark.parametrize("previous", ["a\r\nX-Evil: 1", "a\nb", "\0"])
def test_line_break_in_a_filled_header_is_refused(previous: str) -> None:
    template = {"url": "https://example.org", "headers": {"X-Previous": "{horae.previous}"}}
    read_spec(template, Networks(()))
    with pytest.raises(Refusal) as refusal:
        read_spec(fill("http", template, previous), Networks(()))
    assert "header" in refusal.value.code


@pytest.mark.parametrize("previous", ["a\0b", "x" * 70_000])
def test_filled_argument_that_no_program_takes_is_refused(previous: str) -> None:
    settings = read_settings({"allow": ["date"]})
    template = {"argv": ["date", "{horae.previous}"]}
    check_spec(template, settings, Programs(settings))
    with pytest.raises(Refusal) as refusal:
        check_spec(fill("command", template, previous), settings, Programs(settings))
    assert refusal.value.code == "command_argv"


def test_filled_arguments_stay_separate_words() -> None:
    spec = fill("command", {"argv": ["date", "-d", "{horae.previous}"]}, "a b; rm -rf $(x)")
    assert spec["argv"] == ["date", "-d", "a b; rm -rf $(x)"]
