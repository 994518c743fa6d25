"""A model -> its parameters and its floating-point operations."""
