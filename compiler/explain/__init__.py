"""A job on a target -> why its plan is what it is, and what would change it; `parc explain` prints that.

Every statement is about the first objective as it is predicted, and can be proven by solving again: the best
layout under other conditions by the question that it answers (answers.py), differences by terms of estimates.
"""
