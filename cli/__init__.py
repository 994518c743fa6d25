"""parc: compile a training job into its best parallel layout."""
