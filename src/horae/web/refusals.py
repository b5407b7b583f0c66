"""Catalogue of refusals at the HTTP layer: authentication, bodies, parameters, cursors, conditions, idempotency and
rate limits."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotAllowed, NotAuthenticated, NotFound, Refusal, TooMuch
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_token": RefusalEntry(
            NotAuthenticated,
            "This request needs a token, and has none.",
            "Send it in the header 'Authorization: Bearer horae_…', never in the address.",
            "此请求需要令牌,但没有附带。",
            "请用请求头“Authorization: Bearer horae_…”发送,切勿放在地址里。",
        ),
        "no_such_path": RefusalEntry(
            NotFound,
            "The path '{path}' does not exist.",
            "See /docs for every path; none of them ends with a slash.",
            "“{path}”处没有内容。",
            "所有路径见 /docs;路径末尾都没有斜杠。",
        ),
        "bad_method": RefusalEntry(
            InvalidTask,
            "'{path}' does not support {method}.",
            "Allowed methods: {allowed}.",
            "不能对“{path}”执行 {method}。",
            "可用的方法:{allowed}。",
        ),
        "body_too_large": RefusalEntry(
            InvalidTask,
            "The body has more than {most} bytes.",
            "Send less at once; large data belongs elsewhere, with a reference to it in the payload.",
            "请求体超过 {most} 字节。",
            "请分次发送;大数据应放在别处,在负载中只放引用。",
        ),
        "slow_body": RefusalEntry(
            InvalidTask,
            "The body did not arrive within {seconds} s.",
            "Send it again, faster or smaller; an operator can set 'body_timeout' (HORAE_BODY_TIMEOUT).",
            "请求体未在 {seconds} 秒内到达。",
            "请更快或以更小的请求体重新发送;管理员可设置“body_timeout”(HORAE_BODY_TIMEOUT)。",
        ),
        "bad_host": RefusalEntry(
            InvalidTask,
            "A request needs exactly one Host header, and {number} came.",
            "Send one 'Host: name[:port]'.",
            "请求必须恰有一个 Host 请求头,收到 {number} 个。",
            "请发送一个“Host: 名称[:端口]”。",
        ),
        "not_json": RefusalEntry(
            InvalidTask,
            "The body is not JSON: {problem}.",
            "Send one JSON value in UTF-8.",
            "请求体不是 JSON:{problem}。",
            "请以 UTF-8 发送一个 JSON 值。",
        ),
        "not_strict_json": RefusalEntry(
            InvalidTask,
            "The body is ambiguous JSON: {problem}.",
            "Name each field once, nest at most {most} deep, and write numbers that are finite.",
            "请求体存在歧义:{problem}。",
            "每个字段只写一次,嵌套不超过 {most} 层,数字必须有限。",
        ),
        "not_json_type": RefusalEntry(
            InvalidTask,
            "The body is said to be '{type}', and only JSON is understood here.",
            "Send the header 'Content-Type: application/json'.",
            "请求体声明为“{type}”,此处只接受 JSON。",
            "请发送请求头“Content-Type: application/json”。",
        ),
        "unknown_parameter": RefusalEntry(
            InvalidTask,
            "'{name}' is not a parameter here.",
            "The parameters are: {allowed}.",
            "这里没有参数“{name}”。",
            "可用的参数:{allowed}。",
        ),
        "parameter_twice": RefusalEntry(
            InvalidTask,
            "The parameter '{name}' came more than once.",
            "Say it once.",
            "参数“{name}”出现了多次。",
            "请只写一次。",
        ),
        "bad_parameter_value": RefusalEntry(
            InvalidTask,
            "The parameter '{name}' cannot be '{value}': {problem}.",
            "See /docs for what it may be.",
            "参数“{name}”不能是“{value}”:{problem}。",
            "可用的值见 /docs。",
        ),
        "bad_cursor": RefusalEntry(
            InvalidTask,
            "This cursor does not belong to this query.",
            "Send 'next_cursor' unchanged, with the same filters; or start again without a cursor.",
            "该游标不属于此查询。",
            "请原样使用 next_cursor 并保持相同的筛选条件,或不带游标重新开始。",
        ),
        "too_many_requests": RefusalEntry(
            TooMuch,
            "This owner has used its {most} requests a minute, all its tokens together.",
            "Wait {retry_after} s, make many tasks with one request to /v1/tasks/bulk, or ask an admin to change 'requests_per_minute'.",
            "该所有者的所有令牌每分钟合计最多请求 {most} 次,已用完。",
            "请等待 {retry_after} 秒,用一次 /v1/tasks/bulk 请求创建多个任务,或请管理员调整“requests_per_minute”。",
        ),
        "callbacks_closed": RefusalEntry(
            NotFound,
            "This server takes no callbacks: no callback address is configured.",
            "Set 'callback_url = \"https://horae.example.org\"' under [targets.http] in horae.toml, or HORAE_HTTP_CALLBACK_URL.",
            "此服务器不接受回调:未配置回调地址。",
            '请在 horae.toml 的 [targets.http] 下设置“callback_url = "https://horae.example.org"”,或设置 HORAE_HTTP_CALLBACK_URL。',
        ),
        "too_many_callbacks": RefusalEntry(
            TooMuch,
            "This run has used its {most} callbacks a minute.",
            "Wait {retry_after} s.",
            "该运行每分钟最多可回调 {most} 次,已用完。",
            "请等待 {retry_after} 秒。",
        ),
        "too_many_failures": RefusalEntry(
            TooMuch,
            "Too many wrong tokens came from this address.",
            "Wait {retry_after} s, and check the token.",
            "来自该地址的错误令牌过多。",
            "请等待 {retry_after} 秒,并检查令牌。",
        ),
        "version_changed": RefusalEntry(
            Conflict,
            "The resource has changed meanwhile: its current state is {current}.",
            "Read it again, and repeat the change with its new ETag.",
            "它在此期间已被修改:当前为 {current},与预期不符。",
            "请重新查看,并用新的 ETag 再次修改。",
        ),
        "bad_condition": RefusalEntry(
            InvalidTask,
            "The condition '{value}' is no ETag.",
            "Send the ETag as it came, in double quotes, or *.",
            "条件“{value}”不是 ETag。",
            "请原样发送带双引号的 ETag,或 *。",
        ),
        "bad_idempotency_key": RefusalEntry(
            InvalidTask,
            "An Idempotency-Key cannot be '{value}'.",
            "Send 1 to {most} printable characters, for example a random UUID.",
            "Idempotency-Key 不能是“{value}”。",
            "请发送 1 到 {most} 个可打印字符,例如随机 UUID。",
        ),
        "idempotency_key_reused": RefusalEntry(
            InvalidTask,
            "This Idempotency-Key came with another request before.",
            "Use a new key for each new request; the same one only to repeat exactly the same.",
            "此 Idempotency-Key 之前用于另一个请求。",
            "每个新请求使用新的键;只有完全相同的重试才使用同一个键。",
        ),
        "still_in_progress": RefusalEntry(
            Conflict,
            "The first request with this Idempotency-Key has not ended yet.",
            "Ask again in {retry_after} s.",
            "使用此 Idempotency-Key 的第一个请求尚未结束。",
            "请在 {retry_after} 秒后重试。",
        ),
        "replayed_gone": RefusalEntry(
            NotFound,
            "This request was already done, and the resource that it created or changed no longer exists.",
            "Nothing was repeated. Use a new Idempotency-Key to create it again.",
            "该请求之前已执行,其创建或修改的内容现已不存在。",
            "未再次执行。如需重新创建,请使用新的 Idempotency-Key。",
        ),
        "websocket_required": RefusalEntry(
            InvalidTask,
            "'{path}' answers only WebSockets, and this was an ordinary request.",
            "Connect with a WebSocket client; the server needs its part for that: pip install 'horae[server]'.",
            "“{path}”只接受 WebSocket,而这是一个普通请求。",
            "请用 WebSocket 客户端连接;服务器需要安装:pip install 'horae[server]'。",
        ),
        "websocket_origin": RefusalEntry(
            NotAllowed,
            "Pages of '{origin}' may not connect here.",
            "Add it to 'origins' in horae.toml (HORAE_ORIGINS), and restart the server.",
            "“{origin}”的页面不能连接到此处。",
            "请把它加入 horae.toml 的“origins”(HORAE_ORIGINS),然后重启服务器。",
        ),
        "internal_error": RefusalEntry(
            Refusal,
            "The server failed to process the request.",
            "Try again; if it persists, give the request id to the operator.",
            "服务器内部出错。",
            "请重试;若问题依旧,请把请求编号告知管理员。",
        ),
    }
)

STATUSES: Final[dict[str, int]] = {
    "bad_method": 405,
    "events_gone": 410,
    "replayed_gone": 410,
    "slow_body": 408,
    "bad_host": 400,
    "body_too_large": 413,
    "not_json": 400,
    "not_strict_json": 400,
    "not_json_type": 415,
    "unknown_parameter": 400,
    "parameter_twice": 400,
    "version_changed": 412,
    "stale_version": 412,
    "bad_condition": 400,
    "websocket_required": 426,
    "bad_idempotency_key": 400,
    "internal_error": 500,
    "bad_target": 400,
    "deployment_answer_lost": 502,
    "deployment_timeout": 504,
}
"""HTTP statuses of codes that differ from the status of their error class."""


refuse: Final = CATALOGUE.refuse
