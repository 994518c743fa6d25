"""A priced layout -> when each pass of each pipeline rank runs, for `parc trace`; the search uses none of it."""
