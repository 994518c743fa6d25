"""Launch files, configurations and logs of torchtitan -> facts with their places."""
