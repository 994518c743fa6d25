"""Pages of rules that are rows of accelerate alone: none, as it has predicates alone."""

from collections.abc import Mapping

PAGES: Mapping[str, str] = {}
