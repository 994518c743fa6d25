"""What all reports are made of: numbers and layouts in words, and paragraphs as wide as the terminal."""
