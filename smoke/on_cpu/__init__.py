"""Modules for the Python of a framework, put on its path by `smoke_run`; nothing of parc imports them."""
