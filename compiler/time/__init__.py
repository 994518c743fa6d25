"""Seconds of a step: kernels, layers, collectives, gradient synchronisation, and their sum."""
