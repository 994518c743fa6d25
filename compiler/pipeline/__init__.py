"""How layers are dealt to pipeline ranks, and what each rank then holds."""
