"""A layout's passes in the order of its schedule -> when each runs; prices nothing, so that no plan depends on it."""
