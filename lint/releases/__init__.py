"""What each release and fork of the frameworks accepts: tables made of their own code, and their readers."""
