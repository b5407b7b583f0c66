"""A second, slow and naive reading of the rules of time, against which the evaluator is compared."""
