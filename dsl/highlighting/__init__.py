"""The words of the language in groups, as whatever colours a job needs them, and the lexer of Pygments."""
