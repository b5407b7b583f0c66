"""The benchmark: Horae beside its peers in one run, and what each part of the schedule room costs."""
