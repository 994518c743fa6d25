"""Parts of all reports: numbers and layouts in words, and paragraphs as wide as the terminal."""
