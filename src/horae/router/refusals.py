"""Catalogue of refusals of the router and of its map."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidTask, NotFound, ServerUnreachable
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "deployments_missing": RefusalEntry(
            NotFound,
            "The settings have no deployments.",
            'Write them into horae.toml: [deployments.north] with url = "http://127.0.0.1:4673", and [owners] with '
            '"*" = "north".',
            "设置中没有部署。",
            '请写入 horae.toml:[deployments.north] 中写 url = "http://127.0.0.1:4673",[owners] 中写 "*" = "north"。',
        ),
        "bad_deployment_name": RefusalEntry(
            InvalidTask,
            "'{name}' is not a name of a deployment.",
            "Use 1 to 32 lower-case letters, digits and hyphens, such as north or eu-1.",
            "“{name}”不是部署的名称。",
            "请使用 1 至 32 个小写字母、数字和连字符,例如 north 或 eu-1。",
        ),
        "deployment_without_url": RefusalEntry(
            InvalidTask,
            "The deployment '{name}' has no url.",
            'Write the address of its HTTP API under [deployments.{name}]: url = "https://{name}.example.org" '
            'or url = "unix:/run/horae/{name}.sock".',
            "部署“{name}”没有 url。",
            '请在 [deployments.{name}] 下写出其 HTTP 接口的地址:url = "https://{name}.example.org" '
            '或 url = "unix:/run/horae/{name}.sock"。',
        ),
        "unknown_deployment_field": RefusalEntry(
            InvalidTask,
            "'{field}' is not a setting of a deployment ('{name}').",
            "The settings are: {allowed}.",
            "“{field}”不是部署(“{name}”)的设置。",
            "可用的设置:{allowed}。",
        ),
        "bad_deployment_field": RefusalEntry(
            InvalidTask,
            "The setting '{field}' of the deployment '{name}' must be a text.",
            'Write it in quotes: {field} = "…".',
            "部署“{name}”的设置“{field}”必须是文本。",
            '请写在引号中:{field} = "…"。',
        ),
        "same_deployment_url": RefusalEntry(
            InvalidTask,
            "The deployments '{name}' and '{other}' have the same url.",
            "Each deployment has an address of its own.",
            "部署“{name}”和“{other}”的 url 相同。",
            "每个部署都有自己的地址。",
        ),
        "bad_mapped_owner": RefusalEntry(
            InvalidTask,
            "'{owner}' in [owners] is not a name of an owner.",
            'Write exact names in quotes, such as "user:ada" = "north"; "*" is for all others.',
            "[owners] 中的“{owner}”不是所有者的名称。",
            '请在引号中写完整名称,例如 "user:ada" = "north";"*" 表示其他所有所有者。',
        ),
        "owner_mapped_nowhere": RefusalEntry(
            InvalidTask,
            "The owner '{owner}' is mapped to '{name}', which is no deployment.",
            "The deployments are: {allowed}.",
            "所有者“{owner}”被映射到“{name}”,但没有这个部署。",
            "已有的部署:{allowed}。",
        ),
        "no_default_deployment": RefusalEntry(
            InvalidTask,
            "The map of owners has no default.",
            'Write "*" = "{name}" under [owners] in horae.toml: the deployment of every owner that has no line.',
            "所有者映射没有默认值。",
            '请在 horae.toml 的 [owners] 下写 "*" = "{name}":没有单独一行的所有者都在该部署。',
        ),
        "no_such_deployment": RefusalEntry(
            NotFound,
            "'{name}' is no deployment of horae.toml.",
            "The deployments are: {allowed}.",
            "horae.toml 中没有部署“{name}”。",
            "已有的部署:{allowed}。",
        ),
        "deployment_without_store": RefusalEntry(
            InvalidTask,
            "The deployment '{name}' has no store in horae.toml.",
            'Write store = "postgresql://…" under [deployments.{name}], or name the store instead of the deployment.',
            "horae.toml 中的部署“{name}”没有 store。",
            '请在 [deployments.{name}] 下写 store = "postgresql://…",或直接写存储地址。',
        ),
        "deployment_unavailable": RefusalEntry(
            ServerUnreachable,
            "A deployment that this request needs cannot be reached; nothing was done.",
            "Send the request again soon.",
            "此请求所需的部署无法连接;没有执行任何操作。",
            "请稍后重新发送请求。",
        ),
        "deployment_answer_lost": RefusalEntry(
            ServerUnreachable,
            "The connection to the deployment was lost before its answer came: it may have been done, or not.",
            "Send it again with the same Idempotency-Key, or check the current state first.",
            "在部署应答之前连接中断:操作可能已完成,也可能没有。",
            "请用相同的 Idempotency-Key 重新发送,或先查看当前状态。",
        ),
        "deployment_timeout": RefusalEntry(
            ServerUnreachable,
            "The deployment has not answered in time: the request may have been done, or not.",
            "Send it again with the same Idempotency-Key, or check the current state first.",
            "部署未及时应答:请求可能已完成,也可能没有。",
            "请用相同的 Idempotency-Key 重新发送,或先查看当前状态。",
        ),
        "bad_target": RefusalEntry(
            InvalidTask,
            "The path of this request is ambiguous.",
            "Send a path without '.' and '..' segments, backslashes and control characters.",
            "此请求的路径有歧义。",
            "路径中不得有“.”和“..”段、反斜杠和控制字符。",
        ),
        "websocket_denied": RefusalEntry(
            InvalidTask,
            "The deployment refused the WebSocket with status {status}.",
            "Send the same request without an upgrade to see why.",
            "部署以状态 {status} 拒绝了 WebSocket。",
            "发送不带升级的相同请求可查看原因。",
        ),
    }
)

refuse: Final = CATALOGUE.refuse
