"""Text of a job file -> its syntax tree, or its syntax errors in words."""
