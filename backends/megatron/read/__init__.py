"""Launch files, configurations and logs of Megatron-LM -> facts with their places."""
