"""Modules for a framework's own Python, put on its path by `smoke.start`: nothing of parc imports them."""
