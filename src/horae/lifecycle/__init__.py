"""Scheduling rules as pure functions from `Facts` to `Change`: no clock, no store, no await.

plan      create a task with its first occurrence            fire      decide what a due agenda entry does
settle    end a run with its outcome                         recover   end a run whose process died or released it
control   pause, resume, cancel, delete, skip, run, retry    edit      new schedule, backfill, new zone data
explain   say why an occurrence did or did not run

These use: `due_backlog` (counts due occurrences), `missed` and `overlap` (the policies of these names),
`event_rows` (constructors of skipped runs and events),
`occurrence_end` (failure counts and giving up), and `conclude` (frees waiting entries and completes finished tasks).
"""
