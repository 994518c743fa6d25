"""Words of bash -> their pieces: quotes, expansions, patterns, arithmetic."""
