"""Text of launch files -> facts with their places. Nothing is ever run."""
