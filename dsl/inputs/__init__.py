"""Foreign input, in bounded time and memory: files, and TOML, JSON and Python in them."""
