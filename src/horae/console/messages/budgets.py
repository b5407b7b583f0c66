"""Texts of the page of budgets, and of the switch for all agents."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "budget_title": Message("Budgets", "预算"),
    "budget_about": Message(
        "For each day of the group's zone. A run reserves what the last runs have used at most, and is charged what it used.",
        "按群组时区的每一天计算。运行前按最近几次的最高用量预留，结束后按实际用量结算。",
    ),
    "budget_until": Message("The next day begins", "新的一天始于"),
    "budget_tokens": Message("Tokens", "Token"),
    "budget_cost": Message("Cost", "费用"),
    "budget_runs": Message("Runs", "运行次数"),
    "budget_use": Message(
        "{used} used, {reserved} reserved, {left} left of {limit}",
        "已用 {used}，预留 {reserved}，剩余 {left}，上限 {limit}",
    ),
    "budget_bar": Message("{used} used, {reserved} reserved, {left} left", "已用 {used}，预留 {reserved}，剩余 {left}"),
    "budget_unlimited": Message("no limit", "无上限"),
    "budget_limits": Message("Limits", "上限"),
    "budget_tokens_field": Message("Tokens a day", "每天的 token 数"),
    "budget_cost_field": Message("US dollars a day", "每天的费用（美元）"),
    "budget_runs_field": Message("Runs a day", "每天的运行次数"),
    "budget_saved": Message("The budget of {folder} is saved.", "已保存 {folder} 的预算。"),
    "budget_no_groups": Message("There are no groups.", "没有群组。"),
    "agents_all_stopped": Message("All agents are stopped since", "所有智能体已停止，自"),
    "agents_stop_all": Message("Stop all agents", "停止所有智能体"),
    "agents_stop_all_about": Message(
        "The runs of all agents end now, and their tasks are paused until you let them go on.",
        "立即结束所有智能体的运行，并暂停其任务，直到恢复。",
    ),
    "agents_restart_all": Message("Let all agents go on", "恢复所有智能体"),
    "agents_stopped_all": Message(
        "All agents are stopped: {number} tasks are paused.", "已停止所有智能体：暂停了 {number} 个任务。"
    ),
    "agents_restarted_all": Message(
        "All agents go on: {number} tasks are resumed.", "已恢复所有智能体：恢复了 {number} 个任务。"
    ),
}
