"""What the daily commands do on a file, they do at a server: tests of the one, run once more at the other."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tests.cli import test_adding, test_controlling, test_keys, test_listing, test_running, test_whole_texts

AT_A_SERVER: Final[dict[ModuleType, tuple[str, ...]]] = {
    test_adding: (
        "test_the_receipt_says_what_when_and_how_to_undo_it",
        "test_the_task_is_there_with_everything_that_was_said",
        "test_made_but_paused",
        "test_an_edit_changes_only_what_is_said_and_shows_the_fires",
        "test_an_edit_of_one_policy_names_that_one",
        "test_an_edit_that_cannot_be_is_refused",
        "test_a_task_is_found_by_id_name_key_and_what_is_unique_of_them",
    ),
    test_controlling: (
        "test_pause_and_resume",
        "test_resume_says_what_becomes_of_what_was_missed",
        "test_resume_can_make_up_for_it",
        "test_skip_and_its_taking_back",
        "test_cancel_is_for_good",
        "test_removing_needs_a_yes_and_never_hangs",
        "test_more_than_twenty_need_a_yes",
        "test_removing_many_always_needs_a_yes",
        "test_a_refusal_keeps_nobody_else_from_their_turn",
    ),
    test_keys: (
        "test_a_key_that_is_taken_edits_and_the_receipt_says_so",
        "test_the_same_again_is_already_as_it_is",
        "test_a_dry_run_knows_that_the_key_is_taken",
    ),
    test_listing: (
        "test_the_list_says_when_last_next_and_state",
        "test_the_list_can_be_filtered_sorted_and_paged",
        "test_a_query_that_cannot_be_read_is_shown_with_its_place",
        "test_three_missed_while_stopped_are_seen_wherever_one_looks",
        "test_the_command_that_why_suggests_works",
        "test_why_in_both_languages_for_every_kind_of_answer",
        "test_an_overdue_task_is_told_to_need_an_engine",
        "test_runs_are_found_by_state_and_time",
        "test_logs_of_a_run_and_of_the_newest_of_a_task",
        "test_events_are_read_on_from_a_number",
        "test_the_overview_counts_and_names_what_needs_a_person",
        "test_lanes_and_their_limits",
        "test_looking_changes_nothing",
    ),
    test_running: (
        "test_without_an_engine_it_is_queued_and_said_so",
        "test_a_wait_that_is_too_long_ends_with_8",
        "test_a_run_is_waited_for_and_followed",
        "test_an_awaited_run_that_fails_ends_with_9",
        "test_a_failed_run_is_tried_again",
        "test_a_run_that_goes_on_is_stopped",
        "test_the_occurrence_of_a_past_instant_is_made_up_for",
        "test_backfill_counts_first",
        "test_watch_without_a_terminal_is_a_line_for_each_event",
        "test_nodes_are_listed",
    ),
    test_whole_texts: ("test_a_run_is_shown_in_full",),
}

for _module, _names in AT_A_SERVER.items():
    for _name in _names:
        globals()[f"{_name}_at_a_server"] = getattr(_module, _name)
