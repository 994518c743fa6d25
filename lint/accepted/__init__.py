"""Findings that are not said: comments in files, exceptions with reasons, a baseline of what was there."""
