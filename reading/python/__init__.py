"""A Python module's configuration objects, followed over its syntax tree; nothing of it is run or imported."""
