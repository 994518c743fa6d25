"""`Plan` -> the files that run it on DeepSpeed."""
