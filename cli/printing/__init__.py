"""Output of commands: plans, smoke runs and calibrations as text or JSON, on the terminal."""
