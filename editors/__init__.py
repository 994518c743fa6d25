"""Grammars that colour job files in editors, written from the language's own words."""
