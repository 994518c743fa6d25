"""A model, GPUs and targets -> the text of a first job, which compiles: what `parc init` and `parc
import` write."""
