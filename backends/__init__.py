"""`Plan` -> launch files and back, one module per framework and launcher, listed here."""
