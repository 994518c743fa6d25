"""A job file -> its canonical form: by `pieces`, `layout` and `columns`, in turn, then a check."""
