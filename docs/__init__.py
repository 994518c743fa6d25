"""The documents, and under `tables/` what their generated tables say."""
