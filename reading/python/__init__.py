"""Objects of configuration in a Python module, followed over its syntax tree; nothing is run or imported."""
