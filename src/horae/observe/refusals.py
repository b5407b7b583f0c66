"""Refusals of metrics endpoints and log settings: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotAuthenticated, NotFound
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "metrics_off": RefusalEntry(
            NotFound,
            "Metrics are switched off here.",
            "Set metrics to local, token or open (HORAE_METRICS).",
            "此处已关闭指标。",
            "请将 metrics 设为 local、token 或 open(HORAE_METRICS)。",
        ),
        "metrics_not_installed": RefusalEntry(
            NotFound,
            "Metrics need the library 'prometheus_client', which is not installed.",
            "Install it with: pip install 'horae[observe]'",
            "指标需要未安装的库“prometheus_client”。",
            "请安装:pip install 'horae[observe]'",
        ),
        "metrics_port_taken": RefusalEntry(
            Conflict,
            "Metrics cannot be shown on {host} port {port}: {problem}.",
            "Choose another one with --metrics-port or HORAE_METRICS_PORT, or metrics_host.",
            "无法在 {host} 的端口 {port} 显示指标:{problem}。",
            "请用 --metrics-port、HORAE_METRICS_PORT 或 metrics_host 另选。",
        ),
        "log_file_unusable": RefusalEntry(
            InvalidTask,
            "The log file {path} cannot be written: {problem}.",
            "Make its folder, or choose another file with log_file (HORAE_LOG_FILE).",
            "无法写入日志文件 {path}:{problem}。",
            "请先建立其目录,或用 log_file（HORAE_LOG_FILE）另选文件。",
        ),
        "metrics_need_token": RefusalEntry(
            NotAuthenticated,
            "Metrics are shown to requests from this machine, or with an admin's token.",
            "Send it in the header 'Authorization: Bearer horae_…'.",
            "指标只对本机,或持有管理员令牌者开放。",
            "请用请求头“Authorization: Bearer horae_…”发送令牌。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
