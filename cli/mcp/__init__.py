"""Commands of parc as tools of the Model Context Protocol, for agents and other programs."""
