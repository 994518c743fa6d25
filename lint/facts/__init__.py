"""What rules read: the facts, options and texts of one launched job, and the words that frameworks know."""
