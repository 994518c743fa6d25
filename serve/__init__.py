"""A page on this machine: a job in an editor, its report beside it; `app` alone knows the requests."""
