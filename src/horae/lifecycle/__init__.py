"""Every decision of the product, as functions of values: plan, fire, settle, recover, control. No clock, no store, no await.

plan      a wish becomes a task with its first occurrence        fire      an agenda entry came due: what now?
settle    a run reports how it ended                             recover   its process died, or handed it back
control   a person pauses, resumes, edits, cancels, runs now     explain   why it did, or did not, run
"""
