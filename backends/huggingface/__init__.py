"""Transformers' Trainer and accelerate: their arguments and configurations, read wherever a job has them.

Programs of their kind, LLaMA-Factory, axolotl and TRL, have the same arguments under these or other names.
"""
