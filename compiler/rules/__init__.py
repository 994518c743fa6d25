"""Which layouts are legal: rules of every framework, as predicates that know no solver."""
