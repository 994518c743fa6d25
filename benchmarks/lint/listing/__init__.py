"""The frameworks' code, as text -> tables of the options that each release accepts; nothing of it is run."""
