"""A job file in an editor -> complaints, meanings, completions, edits; `server` alone knows the protocol."""
