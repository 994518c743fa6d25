"""Editor support for job files: grammars from the language's own words, and an extension."""
