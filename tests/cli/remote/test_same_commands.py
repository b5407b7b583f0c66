"""Task commands through a server: tests of the commands on a file, run again at a server."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tests.cli import (
    test_add_edit_show,
    test_add_key,
    test_chains,
    test_failures,
    test_groups,
    test_next_all,
    test_read_commands,
    test_run_commands,
    test_run_input,
    test_system_tasks,
    test_task_control,
    test_untruncated_output,
    test_views,
)

SERVER_TESTS: Final[dict[ModuleType, tuple[str, ...]]] = {
    test_add_edit_show: (
        "test_receipt_shows_task_times_and_undo",
        "test_task_is_stored_with_all_options",
        "test_add_can_create_a_paused_task",
        "test_edit_changes_only_given_fields_and_shows_the_fires",
        "test_edit_of_one_policy_names_it",
        "test_invalid_edit_is_refused",
        "test_task_is_found_by_id_name_key_and_unique_prefix",
    ),
    test_task_control: (
        "test_pause_and_resume",
        "test_resume_reports_missed_occurrences",
        "test_resume_can_run_missed_occurrences",
        "test_skip_can_be_undone",
        "test_cancelled_task_is_not_paused",
        "test_cancel_is_undone_by_the_printed_command",
        "test_bulk_cancel_is_undone",
        "test_rm_without_yes_is_refused_and_never_hangs",
        "test_bulk_command_on_more_than_twenty_tasks_needs_yes",
        "test_bulk_removal_always_needs_yes",
        "test_refused_task_does_not_stop_a_bulk_command",
    ),
    test_add_key: (
        "test_add_with_an_existing_key_edits_the_task",
        "test_add_with_the_same_definition_changes_nothing",
        "test_dry_run_recognises_an_existing_key",
    ),
    test_read_commands: (
        "test_list_shows_schedule_last_next_and_state",
        "test_list_is_filtered_sorted_and_paged",
        "test_invalid_query_is_shown_with_its_position",
        "test_missed_occurrences_are_shown_by_every_command",
        "test_command_suggested_by_why_works",
        "test_why_in_both_languages_for_every_kind_of_answer",
        "test_overdue_task_without_an_engine_is_explained",
        "test_runs_are_found_by_state_and_time",
        "test_logs_of_a_run_and_of_the_newest_of_a_task",
        "test_events_are_read_after_a_number",
        "test_overview_counts_and_names_failures",
        "test_lanes_and_their_limits",
        "test_read_commands_change_nothing",
    ),
    test_run_commands: (
        "test_run_without_an_engine_is_queued",
        "test_wait_timeout_exits_with_8",
        "test_run_can_be_awaited_and_followed",
        "test_awaited_run_that_fails_exits_with_9",
        "test_failed_run_is_retried",
        "test_running_run_is_stopped",
        "test_occurrence_of_a_past_instant_can_be_run",
        "test_backfill_counts_and_needs_yes",
        "test_watch_without_a_terminal_prints_one_line_per_event",
        "test_nodes_are_listed",
    ),
    test_run_input: ("test_run_with_input_shows_it", "test_bad_inputs_are_refused"),
    test_untruncated_output: ("test_run_is_shown_in_full",),
    test_system_tasks: (
        "test_system_tasks_are_listed_when_asked_for",
        "test_changes_of_a_system_task_are_refused_with_a_hint_that_works",
    ),
    test_chains: ("test_chain_is_added_and_shown_as_a_tree", "test_edit_changes_predecessors_and_mode"),
    test_failures: (
        "test_failures_are_grouped_and_a_group_is_retried",
        "test_unknown_group_and_stray_dry_run_are_refused",
    ),
    test_groups: (
        "test_group_is_registered_changed_stopped_and_removed",
        "test_refusals_have_hints_that_work",
        "test_tasks_of_a_group_are_those_of_its_owner",
    ),
    test_next_all: ("test_planned_runs_of_all_tasks_are_listed_by_due_instant",),
    test_views: ("test_views_are_saved_used_and_removed", "test_absent_and_contradicting_views_are_refused"),
}

for _module, _names in SERVER_TESTS.items():
    for _name in _names:
        globals()[f"{_name}_at_a_server"] = getattr(_module, _name)
