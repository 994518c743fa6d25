"""A job and the values of some of its settings -> the plan of every combination, kept as they come."""
