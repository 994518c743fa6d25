"""Bash scripts -> the commands that they launch, with what is known of each word. Nothing is ever run."""
