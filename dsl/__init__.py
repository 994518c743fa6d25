"""Text -> `Job`: the language, its units, its diagnostics and its standard library."""
