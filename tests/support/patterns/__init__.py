"""Regular expressions of the product: which there are, texts that slow one down, and whether its time grows too fast."""
