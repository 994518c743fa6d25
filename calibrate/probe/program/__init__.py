"""The probe as it runs on a cluster: modules that need PyTorch alone, and that `bundle.py` joins."""
