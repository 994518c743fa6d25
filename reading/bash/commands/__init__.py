"""Commands of bash: builtins, programs whose output follows from their words, launchers."""
