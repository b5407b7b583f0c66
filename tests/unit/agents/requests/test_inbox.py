"""Inbox of agents: hostile files, floods, crashes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from horae.agents.requests import inbox as inbox_module
from horae.agents.requests.inbox import MAX_QUARANTINED, MAX_REQUEST_BYTES, Inbox, Request, RequestBox, read_object


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "ipc", tmp_path / "claimed", tmp_path / "quarantine")


@pytest.fixture
def tasks(tmp_path: Path, inbox: Inbox) -> Path:
    """Directory of the group `andy`, as its container sees it."""
    del inbox
    path = tmp_path / "ipc" / "andy" / "tasks"
    path.mkdir(parents=True)
    return path


def put(directory: Path, name: str = "1-a.json", **fields: object) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def claim_one(inbox: Inbox) -> Request:
    (request,) = inbox.claim(["andy"])
    return request


def refuse_one(inbox: Inbox) -> str:
    request = claim_one(inbox)
    assert request.document is None
    inbox.answer(request, {"status": "refused"})
    return request.problem


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def quarantined(tmp_path: Path) -> list[str]:
    return names_in(tmp_path / "quarantine" / "andy")


def test_request_is_claimed_answered_and_removed(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    put(tasks, type="pause_task", groupFolder="main")
    request = claim_one(inbox)
    document = {"type": "pause_task", "groupFolder": "main"}
    assert request.written is not None
    assert request._replace(written=None) == Request("andy", RequestBox.TASKS, "1-a.json", document)
    assert names_in(tasks) == []
    inbox.answer(request, {"status": "accepted", "name": "天气"})
    answer = json.loads((tmp_path / "ipc" / "andy" / "answers" / "1-a.json").read_text(encoding="utf-8"))
    assert answer == {"status": "accepted", "name": "天气"}
    assert names_in(tmp_path / "claimed") == []
    assert names_in(tmp_path / "ipc" / "andy" / "answers") == ["1-a.json"]


def test_requests_come_in_the_order_of_their_names(inbox: Inbox, tasks: Path) -> None:
    for name in ("3-a.json", "1-b.json", "2-c.json"):
        put(tasks, name)
    assert [each.name for each in inbox.claim(["andy"])] == ["1-b.json", "2-c.json", "3-a.json"]


def test_unfinished_file_waits_for_its_rename(inbox: Inbox, tasks: Path) -> None:
    (tasks / "1-a.json.tmp").write_text("{", encoding="utf-8")
    (tasks / ".hidden.json").write_text("{}", encoding="utf-8")
    assert list(inbox.claim(["andy"])) == []
    assert not inbox.has_more(["andy"])


def test_claimed_request_is_found_again_after_a_crash(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    put(tasks, type="pause_task")
    request = claim_one(inbox)
    again = Inbox(tmp_path / "ipc", tmp_path / "claimed", tmp_path / "quarantine")
    # After a crash the file shows the time of its claim, not when it was written.
    assert list(again.recover()) == [request._replace(written=None)]
    again.answer(request, {})
    assert list(again.recover()) == []


def test_second_file_of_a_name_waits_for_the_first_answer(inbox: Inbox, tasks: Path) -> None:
    put(tasks, number=1)
    first = claim_one(inbox)
    put(tasks, number=2)
    assert list(inbox.claim(["andy"])) == []
    inbox.answer(first, {})
    assert claim_one(inbox).document == {"number": 2}


def test_flood_of_one_group_does_not_delay_another(inbox: Inbox, tasks: Path) -> None:
    for number in range(120):
        put(tasks, f"{number:03d}-a.json")
    put(tasks.parents[1] / "beth" / "messages", "1-b.json", text="hi")
    claimed = list(inbox.claim(["andy", "beth"], limit=50))
    assert [each.folder for each in claimed] == ["andy"] * 50 + ["beth"]
    assert inbox.has_more(["andy"])
    names = [each.name for each in claimed[:-1]]
    while inbox.has_more(["andy"]):
        names += [each.name for each in inbox.claim(["andy"], limit=50)]
    assert names == [f"{number:03d}-a.json" for number in range(120)]


def test_link_is_not_followed(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    secret = put(tmp_path / "host", "secret.json", word="s3cret")
    (tasks / "1-a.json").symlink_to(secret)
    assert "not a readable file" in refuse_one(inbox)
    assert secret.exists()
    assert quarantined(tmp_path) == ["00000001-1-a.json"]


def test_hard_link_is_refused(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    secret = put(tmp_path / "host", "secret.json", word="s3cret")
    (tasks / "1-a.json").hardlink_to(secret)
    assert refuse_one(inbox) == "the file has another name"
    assert secret.read_text(encoding="utf-8") == '{"word": "s3cret"}'


def test_fifo_does_not_block(inbox: Inbox, tasks: Path) -> None:
    os.mkfifo(tasks / "1-a.json")
    assert refuse_one(inbox) == "not a regular file"


def test_directory_is_refused(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    put(tasks / "1-a.json", "inner.json")
    assert refuse_one(inbox) == "not a regular file"
    assert quarantined(tmp_path) == ["00000001-1-a.json"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"a": 1, "a": 2}', b'{"a": NaN}', b"\xff\xfe", b'{"a": "\\ud800"}', b'{"a":' * 100_000],
)
def test_defective_json_is_refused(inbox: Inbox, tasks: Path, content: bytes) -> None:
    (tasks / "1-a.json").write_bytes(content)
    assert refuse_one(inbox)


def test_size_is_limited(inbox: Inbox, tasks: Path) -> None:
    (tasks / "1-a.json").write_bytes(b'{"a": "' + b"x" * MAX_REQUEST_BYTES + b'"}')
    assert refuse_one(inbox) == f"longer than {MAX_REQUEST_BYTES} bytes"


def test_numbers_are_limited() -> None:
    with pytest.raises(ValueError, match="digits"):
        read_object(b'{"a": ' + b"1" * 10_000 + b"}")


def test_linked_box_is_not_read(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    put(tmp_path / "host", type="pause_task")
    shutil.rmtree(tasks)
    tasks.symlink_to(tmp_path / "host")
    assert list(inbox.claim(["andy"])) == []
    assert names_in(tmp_path / "host") == ["1-a.json"]


def test_linked_answers_lead_nowhere(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    host = tmp_path / "host"
    host.mkdir()
    put(tasks)
    (tasks.parent / "answers").symlink_to(host)
    inbox.answer(claim_one(inbox), {"status": "accepted"})
    assert names_in(host) == []
    assert names_in(tmp_path / "claimed") == []


def test_answer_replaces_a_link_of_its_name(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    victim = put(tmp_path / "host", "victim.json", kept=True)
    answers = tasks.parent / "answers"
    answers.mkdir()
    (answers / "1-a.json").symlink_to(victim)
    put(tasks)
    inbox.answer(claim_one(inbox), {"status": "accepted"})
    assert victim.read_text(encoding="utf-8") == '{"kept": true}'
    assert not (answers / "1-a.json").is_symlink()


def test_quarantine_is_bounded(tmp_path: Path, inbox: Inbox, tasks: Path) -> None:
    (tasks / "d.json").mkdir()
    inbox.answer(claim_one(inbox), {})
    for number in range(MAX_QUARANTINED + 5):
        (tasks / f"{number:03d}.json").write_text("{", encoding="utf-8")
        inbox.answer(claim_one(inbox), {})
    kept = quarantined(tmp_path)
    assert len(kept) == MAX_QUARANTINED
    assert kept[-1].endswith(f"{MAX_QUARANTINED + 4:03d}.json")


def test_old_answers_are_removed(tmp_path: Path, inbox: Inbox, tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "MAX_ANSWERS", 5)
    monkeypatch.setattr(inbox_module, "_ANSWERS_PER_SWEEP", 1)
    answers = tmp_path / "ipc" / "andy" / "answers"
    (answers / "kept.json").mkdir(parents=True)
    (answers / "notes.txt").write_text("mine", encoding="utf-8")
    for number in range(12):
        put(tasks, f"{number:02d}-a.json")
        inbox.answer(claim_one(inbox), {})
        os.utime(answers / f"{number:02d}-a.json", ns=(0, number))
    assert names_in(answers) == [*(f"{number:02d}-a.json" for number in range(7, 12)), "kept.json", "notes.txt"]
