"""Modules for the Python of a framework, put on its path by `smoke.run`; nothing of parc imports them."""
