"""Options that each release and fork of the frameworks accepts: tables made of their code, and readers."""
