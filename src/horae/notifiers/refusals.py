"""Refusals of notifier URLs: code, sentence and hint in two languages; a URL is a secret and is never repeated."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidTask
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "notify_schema": RefusalEntry(
            InvalidTask,
            "'{schema}' is not a service that messages can be sent to.",
            "Begin the URL with the name of a service, for example mailto://, slack://, tgram://, ntfy:// or json://.",
            "“{schema}”不是可以发送消息的服务。",
            "URL 请以服务名称开头,例如 mailto://、slack://、tgram://、ntfy:// 或 json://。",
        ),
        "notify_url": RefusalEntry(
            InvalidTask,
            "The URL does not have the form of {service}.",
            "Compare it with the page of that service at https://appriseit.com/services/.",
            "该 URL 不符合 {service} 的格式。",
            "请对照 https://appriseit.com/services/ 中该服务的页面。",
        ),
        "notify_url_text": RefusalEntry(
            InvalidTask,
            "The URL has more than {most} characters, or a space or line break.",
            "Give one URL, with %20 for a space.",
            "该 URL 超过 {most} 个字符,或含有空格或换行。",
            "请只给出一个 URL,空格写作 %20。",
        ),
        "notify_host_schema": RefusalEntry(
            InvalidTask,
            "'{schema}' acts on the machine of the node, so it is off.",
            'An operator can allow it: write notify_host_schemas = ["{schema}"] at the top of horae.toml, then restart the node.',
            "“{schema}”会作用于节点所在的机器,因此默认关闭。",
            '运维人员可以允许它:在 horae.toml 开头写 notify_host_schemas = ["{schema}"],然后重新启动节点。',
        ),
        "notify_service_library": RefusalEntry(
            InvalidTask,
            "{service} needs a library that is not installed here.",
            "Its page at https://appriseit.com/services/ names the library; install it beside horae[notify].",
            "{service} 需要一个尚未安装的库。",
            "https://appriseit.com/services/ 中该服务的页面写明了所需的库;请与 horae[notify] 一起安装。",
        ),
        "notify_check_failed": RefusalEntry(
            InvalidTask,
            "The URL could not be checked: the process that reads it ended without an answer.",
            "Try again; if it repeats, leave out the options after the question mark.",
            "无法检查该 URL:读取它的进程没有给出答复。",
            "请重试;如反复出现,请去掉问号之后的选项。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
