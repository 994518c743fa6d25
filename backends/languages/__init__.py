"""Writers, one module a language: the only way for a text to enter a file that is emitted."""
