"""What a model is made of: its parameters and its floating-point operations."""
