"""Logs of real runs -> the few parameters of their cluster, and a `.par` file that states them."""
