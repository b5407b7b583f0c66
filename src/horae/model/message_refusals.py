"""Catalogue of refusals for message streams."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotAllowed, NotFound, TooMuch
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_such_stream": RefusalEntry(
            NotFound,
            "There is no stream '{name}'.",
            "See which there are with: horae messages ls",
            "没有消息流“{name}”。",
            "可用以下命令查看已有的消息流:horae messages ls",
        ),
        "no_such_reader": RefusalEntry(
            NotFound,
            "The stream '{stream}' has no reader '{reader}'.",
            "Register it with: horae messages reader {stream} {reader}",
            "消息流“{stream}”没有读取者“{reader}”。",
            "可用以下命令登记:horae messages reader {stream} {reader}",
        ),
        "agent_stream": RefusalEntry(
            NotAllowed,
            "The agent '{agent}' uses only the stream 'agent:{agent}' and those whose names begin with 'agent:{agent}:'.",
            "Use the stream agent:{agent}.",
            "智能体“{agent}”只能使用消息流“agent:{agent}”以及名称以“agent:{agent}:”开头的消息流。",
            "请使用消息流 agent:{agent}。",
        ),
        "bad_stream_name": RefusalEntry(
            InvalidTask,
            "'{value}' cannot be the name of a {name}.",
            "Use visible characters without spaces and slashes, for example chat:12.",
            "“{value}”不能用作 {name} 的名称。",
            "请使用不含空格和斜杠的可见字符,例如 chat:12。",
        ),
        "empty_message": RefusalEntry(
            InvalidTask,
            "The message has neither text nor references.",
            'Give it a text, for example "text": "hello".',
            "消息既没有文本也没有引用。",
            '请给出文本,例如 "text": "hello"。',
        ),
        "unstorable_message": RefusalEntry(
            InvalidTask,
            "The text of the message has a NUL or half of a surrogate pair, which no store can keep.",
            "Send valid UTF-8 text without NUL.",
            "消息文本含有 NUL 或不完整的代理对,任何存储都无法保存。",
            "请发送不含 NUL 的有效 UTF-8 文本。",
        ),
        "no_messages": RefusalEntry(
            InvalidTask,
            "The list of messages is empty.",
            'Give at least one, for example [{{"text": "hello"}}].',
            "消息列表为空。",
            '请至少给出一条,例如 [{{"text": "hello"}}]。',
        ),
        "message_too_large": RefusalEntry(
            InvalidTask,
            "The text of the message has {size} bytes; a message has at most {most}.",
            "Split the text, or send a reference to it.",
            "消息文本有 {size} 字节;一条消息最多 {most} 字节。",
            "请拆分文本,或发送指向它的引用。",
        ),
        "bad_references": RefusalEntry(
            InvalidTask,
            "The references of a message are a list of at most {most} JSON values with at most {size} bytes together.",
            'Give a list, for example [{{"url": "https://example.com/a.png"}}].',
            "消息的引用是一个列表,最多 {most} 个 JSON 值,总共最多 {size} 字节。",
            '请给出列表,例如 [{{"url": "https://example.com/a.png"}}]。',
        ),
        "bad_keep_for": RefusalEntry(
            InvalidTask,
            "Messages cannot be kept for '{value}'.",
            "Give a duration from 1 s to 10 years, for example 30d.",
            "消息不能保留“{value}”。",
            "请给出 1 秒到 10 年之间的时长,例如 30d。",
        ),
        "too_many_messages": RefusalEntry(
            TooMuch,
            "One request appends at most {most} messages.",
            "Send them in several requests.",
            "一次请求最多追加 {most} 条消息。",
            "请分多次请求发送。",
        ),
        "too_many_writes": RefusalEntry(
            TooMuch,
            "A run commits at most {most} messages, cursor moves and records at once.",
            "Commit between them: await context.commit().",
            "一次运行一次最多提交 {most} 条消息、游标移动和记录。",
            "请在其间提交:await context.commit()。",
        ),
        "too_many_message_streams": RefusalEntry(
            TooMuch,
            "'{owner}' has {most} streams already.",
            "Delete one that is no longer needed (horae messages rm STREAM), or ask an admin: horae owner set {owner} --quota message_streams={more}",
            "“{owner}”已有 {most} 个消息流。",
            "请删除不再需要的消息流(horae messages rm STREAM),或请管理员执行:horae owner set {owner} --quota message_streams={more}",
        ),
        "messages_full": RefusalEntry(
            TooMuch,
            "The streams of '{owner}' hold {most} bytes of messages at most, and this would be more.",
            "Keep fewer messages (horae messages set STREAM --keep 1000), or ask an admin: horae owner set {owner} --quota stored_message_bytes={more}",
            "“{owner}”的消息流最多保存 {most} 字节的消息,此次追加将超出限制。",
            "请减少保留的消息(horae messages set STREAM --keep 1000),或请管理员执行:horae owner set {owner} --quota stored_message_bytes={more}",
        ),
        "stream_full": RefusalEntry(
            TooMuch,
            "A stream of '{owner}' stores at most {most} messages, and '{stream}' would have more.",
            "Keep fewer messages (horae messages set {stream} --keep 1000), or ask an admin: horae owner set {owner} --quota stream_messages={more}",
            "“{owner}”的一个消息流最多保存 {most} 条消息,“{stream}”将超出限制。",
            "请减少保留的消息(horae messages set {stream} --keep 1000),或请管理员执行:horae owner set {owner} --quota stream_messages={more}",
        ),
        "too_many_readers": RefusalEntry(
            TooMuch,
            "The stream '{stream}' has {most} readers already.",
            "Remove one (horae messages reader {stream} READER --remove), or ask an admin: horae owner set {owner} --quota stream_readers={more}",
            "消息流“{stream}”已有 {most} 个读取者。",
            "请移除一个(horae messages reader {stream} READER --remove),或请管理员执行:horae owner set {owner} --quota stream_readers={more}",
        ),
        "run_not_live": RefusalEntry(
            Conflict,
            "The run {run} no longer belongs to this node, so nothing was written.",
            "End the work: another attempt handles the messages.",
            "运行 {run} 已不属于本节点,因此没有写入任何内容。",
            "请结束工作:另一次尝试会处理这些消息。",
        ),
        "bad_task_data": RefusalEntry(
            InvalidTask,
            "The value '{name}' has no JSON form, or has a NUL, so no store can keep it.",
            "Put text, numbers, true, false, null, lists and objects of these.",
            "值“{name}”没有 JSON 形式,或含有 NUL,任何存储都无法保存。",
            "请使用文本、数字、true、false、null,以及由它们组成的列表和对象。",
        ),
        "task_data_too_large": RefusalEntry(
            TooMuch,
            "The data of the task would have {size} bytes; a task keeps at most {most}.",
            'Delete values that are no longer needed: await context.records.delete("name").',
            "任务的数据将有 {size} 字节;一个任务最多保存 {most} 字节。",
            '请删除不再需要的值:await context.records.delete("name")。',
        ),
        "no_run_tools": RefusalEntry(
            InvalidTask,
            "This call has no {name}: no node executes it.",
            "Use {name} in a function that a node runs.",
            "此次调用没有 {name}:它不是由节点执行的。",
            "请在由节点运行的函数中使用 {name}。",
        ),
        "tool_call_too_large": RefusalEntry(
            TooMuch,
            "The call {name} has {size} bytes; a function in a process of its own sends at most {most} at once.",
            "Send less at once.",
            "调用 {name} 有 {size} 字节;独立进程中的函数一次最多发送 {most} 字节。",
            "请减少一次发送的内容。",
        ),
    }
)
refuse: Final = CATALOGUE.refuse
