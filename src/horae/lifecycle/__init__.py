"""Every decision of the product, as functions of values: plan, fire, settle, recover, control. No clock, no store, no await.

plan      a wish becomes a task with its first occurrence        fire      an agenda entry came due: what now?
settle    a run reports how it ended                             recover   its process died, or handed it back
control   a person pauses, resumes, cancels, runs now            editing   a new schedule, a backfill, new zone data
explain   why it did, or did not, run

Behind them: `pile` counts what is due and not accounted for, `missed` and `overlap` are the policies of those names,
`reckoning` and `leaving` give every instant its row, `made` leaves out what has one already, `ending` says what an end
counts for, and `conclude` looks at what is left, so that nothing waits for something that will never come.
"""
