"""Priced layouts: the quantities that a goal may name, and one layout in full."""
