"""What parc reads of others, in bounded time and memory: files, and TOML, JSON and Python in them."""
