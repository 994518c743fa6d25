"""A probe that a person runs on a cluster before any training -> its GPU and cluster, as measured."""
