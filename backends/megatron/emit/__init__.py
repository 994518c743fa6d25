"""`Plan` -> the files that run it on Megatron-LM."""
