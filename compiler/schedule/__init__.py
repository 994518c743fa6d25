"""A priced layout -> when each pass of each pipeline rank runs, for `parc trace` and the last word on a plan;
searches have closed forms."""
