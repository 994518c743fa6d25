"""A job file in an editor -> meanings, completions, edits; `server` alone knows the protocol."""
