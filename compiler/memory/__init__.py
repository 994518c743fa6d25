"""Bytes on one GPU: model states, activations, and the fullest moment of a step."""
