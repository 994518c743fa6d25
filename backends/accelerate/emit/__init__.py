"""Files of a run under accelerate."""
