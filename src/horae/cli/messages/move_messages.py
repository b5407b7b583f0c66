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
OWNER_STEPS: Final[dict[str, Message]] = {
    "fencing": Message("fencing: nothing is written for {owner} any more", "设置围栏:不再为 {owner} 写入"),
    "stopping": Message("stopping: nothing of {owner} starts, live runs end", "停止:{owner} 不再启动,等待运行结束"),
    "copying": Message("copying {owner}", "正在复制 {owner}"),
    "comparing": Message("comparing {owner}", "正在比对 {owner}"),
    "switching": Message(
        "switching: {owner} belongs to the new place from now on", "切换:{owner} 从现在起属于新的部署"
    ),
    "clearing": Message("clearing: {owner} is removed from the old place", "清理:从旧的部署移除 {owner}"),
    "starting": Message("starting {owner} in the new place", "正在新的部署中启动 {owner}"),
    "done": Message("done", "完成"),
}
"""Steps of the move of one owner."""
OWNER_MOVED: Final = Message(
    "{owner} was moved from {source} to {target}: both were read again, and held the same",
    "{owner} 已从 {source} 迁移到 {target}:两者已重新读取,内容相同",
)
OWNER_MOVED_BEFORE: Final = Message(
    "{owner} was moved from {source} to {target} before: nothing was done",
    "{owner} 之前已从 {source} 迁移到 {target}:没有任何操作",
)
OWNER_STAYS: Final = Message(
    "the move was given up: {owner} goes on in {source}, and nothing of it is in {target}",
    "已放弃迁移:{owner} 在 {source} 继续,{target} 中没有它的内容",
)
WOULD_MOVE_OWNER: Final = Message(
    "{owner} would be moved from {source} to {target} (dry run: nothing was written)",
    "将把 {owner} 从 {source} 迁移到 {target}(试运行:没有写入)",
)
CHANGE_THE_MAP: Final = Message(
    "Now write into [owners] of {file}, and start the routers again: {text}",
    "现在请在 {file} 的 [owners] 中写入下面一行,并重新启动路由器:{text}",
)
