"""Fine-tuning: the weights that train, their bytes, the memory at the peak and the seconds of a step."""
