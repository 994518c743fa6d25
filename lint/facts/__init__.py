"""Inputs of rules: the facts, options and texts of one launched job, and the words that frameworks know."""
