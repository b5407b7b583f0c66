"""Messages of `horae move` in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...message import Message

WATCHING: Final = Message("watching for nodes", "正在确认没有节点")
COPYING: Final = Message("copying", "正在复制")
COMPARING: Final = Message("comparing", "正在比对")
PART: Final = Message("PART", "部分")
NUMBER: Final = Message("NUMBER", "数量")
DIGEST: Final = Message("DIGEST", "摘要")
MOVED: Final = Message(
    "{source} was moved to {target}: both were read again, and hold the same",
    "{source} 已迁移到 {target}:两者已重新读取,内容相同",
)
MOVED_BEFORE: Final = Message(
    "{target} was complete already: both were read again, and hold the same as {source}",
    "{target} 早已完整:两者已重新读取,与 {source} 内容相同",
)
GOES_ON: Final = Message("an earlier move is taken up again at: {part}", "继续之前的迁移,从这里开始:{part}")
WOULD_MOVE: Final = Message(
    "{source} would be moved to {target} (dry run: nothing was written)",
    "将把 {source} 迁移到 {target}(试运行:没有写入)",
)
TAKE_THE_KEY: Final = Message(
    "Secrets stay sealed: take the key file along. Copy {path} to {wanted}, readable by you alone.",
    "机密仍然加密保存:请一并带上密钥文件。把 {path} 复制到 {wanted},只允许自己读取。",
)
NAME_THE_KEY: Final = Message(
    "Secrets stay sealed: take the key file along. Bring {path} to each node, and name it with HORAE_KEY_FILE.",
    "机密仍然加密保存:请一并带上密钥文件。把 {path} 带到每个节点,并用 HORAE_KEY_FILE 指明它。",
)
BRING_THE_KEY: Final = Message(
    "Secrets stay sealed: take the key file along. Copy the one that the nodes have (HORAE_KEY_FILE) to {wanted}, readable by you alone.",
    "机密仍然加密保存:请一并带上密钥文件。把各节点使用的密钥文件(HORAE_KEY_FILE)复制到 {wanted},只允许自己读取。",
)
ONLY_THERE: Final = Message(
    "From now on start nodes on {target} only: {source} holds the same tasks, and a node there would run them once more.",
    "从现在起只在 {target} 上启动节点:{source} 仍有相同的任务,在那里启动节点会再次运行它们。",
)
