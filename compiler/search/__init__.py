"""The best layout: the space of layouts, its exhaustive sweep, the CP-SAT proof, and explanations."""
