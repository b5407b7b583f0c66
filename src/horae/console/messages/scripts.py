"""Texts of the scripts: pages carry them in a template element, with placeholders that the scripts fill in."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "js_live_on": Message("Live", "实时"),
    "js_live_connecting": Message("Connecting…", "正在连接…"),
    "js_live_waiting": Message("Reconnecting…", "正在重新连接…"),
    "js_live_paused": Message("Paused", "已暂停更新"),
    "js_session_ended": Message(
        "Your session has ended. Send the form: what you entered is kept.",
        "会话已结束。请提交表单:您输入的内容会保留。",
    ),
    "js_new_rows": Message("{number} new", "新增 {number} 条"),
    "js_clock_off": Message("Your clock is {span} off.", "您的时钟偏差 {span}。"),
    "js_copied": Message("Copied", "已复制"),
    "js_palette_page": Message("page", "页面"),
    "js_palette_action": Message("action", "操作"),
    "js_palette_task": Message("task", "任务"),
    "js_toggle_live": Message("Pause or resume live updates", "暂停或恢复实时更新"),
    "js_next_theme": Message("Next theme", "切换主题"),
    "js_choose_zone": Message("Choose the time zone", "选择时区"),
    "js_copy_link": Message("Copy the link", "复制链接"),
    "js_help": Message("Keyboard shortcuts", "键盘快捷键"),
}
