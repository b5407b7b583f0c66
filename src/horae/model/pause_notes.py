"""Notes that Horae itself writes on a pause, in Chinese; a person's own note stays as it was written."""

from __future__ import annotations

from typing import Final

from ..choices import Language

ORPHANED: Final = "no function of this name is declared any more"
AWAITING_APPROVAL: Final = "an agent made it: somebody must approve it first"
AGENT_STOPPED: Final = "its agent was stopped"
_CHINESE: Final = {
    ORPHANED: "代码中已不再声明此名称的函数",
    AWAITING_APPROVAL: "由智能体创建，须先获批准",
    AGENT_STOPPED: "其智能体已被停止",
    "owner_revoked": "其令牌已被撤销",
}
_BEGINNINGS: Final = {"quota ": "配额 ", "it is declared as ": "现声明为 "}


def pause_note(note: str, language: Language) -> str:
    if language == "en":
        return note
    for english, chinese in _BEGINNINGS.items():
        if note.startswith(english):
            return chinese + note.removeprefix(english).removesuffix(" now")
    return _CHINESE.get(note, note)
