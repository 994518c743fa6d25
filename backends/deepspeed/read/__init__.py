"""Launch files, configurations and logs of DeepSpeed -> facts with their places."""
