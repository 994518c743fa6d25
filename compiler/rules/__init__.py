"""Which layouts are legal: rules of all frameworks, as predicates over columns of layouts."""
