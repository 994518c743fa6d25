"""Regular expressions of the product: which there are, texts that slow one down, and how its time grows."""
