"""The best layout: the space, its exhaustive sweep, the proof by CP-SAT, explanations, stage placement."""
