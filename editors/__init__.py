"""What editors need to know of job files: grammars from the language's own words, and an extension."""
