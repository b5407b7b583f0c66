"""Answers to commands of chats, and notices of the router, in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...message import Message

TASKS: Final = Message("Tasks ({number}), times in {zone}:", "{number} 个任务,时区 {zone}:")
NO_TASKS: Final = Message("There are no tasks.", "没有任务。")
MORE_TASKS: Final = Message("… and more.", "……还有更多。")
TASK_ROW: Final = Message("{place}. {name}: {means}; {next}", "{place}. {name}:{means};{next}")
TASK_ROW_OF_GROUP: Final = Message(
    "{place}. [{group}] {name}: {means}; {next}", "{place}. [{group}] {name}:{means};{next}"
)
NEXT: Final = Message("next {at}", "下次 {at}")
NEXT_IN_ZONE: Final = Message("next {at} ({zone})", "下次 {at}({zone})")
NO_NEXT: Final = Message("nothing planned", "无后续")
PAUSED_STATE: Final = Message("paused", "已暂停")
WAITS_FOR_APPROVAL: Final = Message("waits for approval", "等待批准")
PAUSED: Final = Message("Paused '{name}' ({means}). /undo takes it back.", "已暂停“{name}”({means})。/撤销 可以撤回。")
ALREADY_PAUSED: Final = Message("'{name}' is paused already.", "“{name}”已经是暂停状态。")
RESUMED: Final = Message(
    "Resumed '{name}': {means}; {next}. /undo takes it back.", "已恢复“{name}”:{means};{next}。/撤销 可以撤回。"
)
NOT_PAUSED: Final = Message("'{name}' is not paused: {next}.", "“{name}”没有暂停:{next}。")
CANCELLED: Final = Message(
    "Cancelled '{name}' ({means}). /undo brings it back.", "已取消“{name}”({means})。/撤销 可以恢复它。"
)
CANCELLED_FOR_GOOD: Final = Message(
    "Cancelled '{name}' ({means}) for good; this cannot be undone.", "已永久取消“{name}”({means}),无法撤销。"
)
CANCEL_IS_FINAL: Final = Message(
    "The last change cannot be undone: '{name}' was cancelled for good.", "上一次更改无法撤销:“{name}”已永久取消。"
)
ALREADY_CANCELLED: Final = Message("'{name}' is cancelled already.", "“{name}”已经取消。")
UNDONE_PAUSE: Final = Message("Undone: '{name}' goes on: {means}; {next}.", "已撤销:“{name}”继续运行:{means};{next}。")
UNDONE_RESUME: Final = Message("Undone: '{name}' is paused again ({means}).", "已撤销:“{name}”再次暂停({means})。")
UNDONE_CANCEL: Final = Message(
    "Undone: '{name}' is there again: {means}; {next}.", "已撤销:“{name}”已恢复:{means};{next}。"
)
NOTHING_TO_UNDO: Final = Message("There is nothing to undo.", "没有可以撤销的操作。")
WHICH_TASK: Final = Message(
    "Which task? Answer with its number, such as: /{verb} 1", "哪个任务?请用编号回答,例如:/{verb} 1"
)
EXPLAINED: Final = Message("'{name}', {at}: {sentence}", "“{name}”,{at}:{sentence}")
REFUSED: Final = Message("{message} {hint}", "{message}{hint}")
TASKS_HINT: Final = Message("/tasks lists them.", "/任务 可以列出它们。")
STORE_PROBLEM: Final = Message("That did not work now. Please try again later.", "现在无法完成,请稍后再试。")
HELP: Final = Message(
    "/tasks lists the tasks; a command takes their numbers, too\n"
    "/pause NAME pauses a task\n"
    "/resume NAME resumes it\n"
    "/cancel NAME ends it\n"
    "/why NAME explains why it ran, or did not\n"
    "/undo takes back the last of these changes\n"
    "Everything else goes to the assistant{trigger}.",
    "/任务 列出任务,命令也接受其编号\n"
    "/暂停 名称:暂停任务\n"
    "/恢复 名称:继续运行\n"
    "/取消 名称:取消任务\n"
    "/为什么 名称:说明任务为何运行或未运行\n"
    "/撤销 撤回上一次更改\n"
    "其他消息交给助手{trigger}。",
)
WITH_TRIGGER: Final = Message(", if it begins with {trigger}", ",需以 {trigger} 开头")
TURN_FAILED: Final = Message(
    "I could not answer: every attempt has failed ({problem}). Your messages are kept; write again and I try once more.",
    "无法回答:所有尝试都失败了({problem})。您的消息已保留;再写一条,我会重新尝试。",
)
TASK_FAILED: Final = Message(
    "The task '{name}' has failed: {problem}. For more, write: {command}",
    "任务“{name}”失败了:{problem}。要了解详情,请发送:{command}",
)
TASK_SKIPPED: Final = Message(
    "The task '{name}' did not run: {problem} For more, write: {command}",
    "任务“{name}”没有运行:{problem}要了解详情,请发送:{command}",
)
UNDELIVERED: Final = Message(
    "{number} messages could not be sent to this chat (since {at}).",
    "有 {number} 条消息未能发送到此聊天(自 {at} 起)。",
)
BUDGET_USED_UP: Final = Message(
    "I cannot answer today: my budget is used up. Your messages are kept, and I answer them when the next day begins. {note}",
    "今天无法回答:我的预算已用完。您的消息已保留,新的一天开始后我会回答。{note}",
)
NO_PROBLEM: Final = Message("no error was reported", "没有报告错误")
