"""`Plan` -> the files that run it on torchtitan."""
