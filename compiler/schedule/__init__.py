"""A priced layout -> when each pass of each pipeline rank runs, for `parc trace`; no search uses it."""
