"""Statements of bash -> the state that they leave: assignments, branches, loops, conditions."""
