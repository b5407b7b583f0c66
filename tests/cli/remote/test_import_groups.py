"""Import of a NanoClaw installation through a server: groups and messages arrive; the session and the files stay."""

from __future__ import annotations

from pathlib import Path

from tests.agents.groups.installations import make_installation
from tests.cli.remote.server import RemoteCli


def test_groups_and_messages_are_imported_through_a_server(cli: RemoteCli, tmp_path: Path) -> None:
    root = make_installation(tmp_path / "nanoclaw", "1.2")
    answer = cli("import", str(root), "--zone", "UTC", "--json")
    assert answer.code == 0, answer.err
    (chat,) = answer.json["chats"]
    assert (chat["messages"], chat["waiting"], chat["session"], chat["files"]["copied"]) == (4, 2, False, 0)
    notes = " ".join(each["note"] for each in answer.json["notes"])
    assert "session is not taken over at a server" in notes
    assert cli("group", "show", "family", "--json").json["waiting"] == 2
    assert cli("import", str(root), "--zone", "UTC", "--json").json["chats"][0]["messages"] == 0
