"""Compiled templates, kept where Python keeps the bytecode of the modules beside them.

Jinja takes longer to compile the templates of a job than to fill them. What is kept lies in `__pycache__`, or
below PYTHONPYCACHEPREFIX, is written by Python's own writer of bytecode, and not at all where Python may not
write its own.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path

from jinja2.bccache import Bucket, BytecodeCache


class CompiledTemplates(BytecodeCache):
    """Templates by file; compiled again where its text, its writers or Jinja's release changed."""

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file of a template's bytecode; empty where Python keeps none."""
        with suppress(NotImplementedError):
            return f"{cache_from_source(filename)}.template" if filename else ""
        return ""

    def get_source_checksum(self, source: str) -> str:
        return sha256(f"{_writers()}{source}".encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            if bucket.key:
                bucket.bytecode_from_string(Path(bucket.key).read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.key and not sys.dont_write_bytecode:
            loader = SourceFileLoader("template", bucket.key)
            loader.set_data(bucket.key, bucket.bytecode_to_string())


@cache
def _writers() -> str:
    """Digest of what decides into what a template is compiled: Jinja's release, and the modules here."""
    modules = sorted(Path(__file__).parent.glob("*.py"))
    texts = (version("jinja2").encode(), *(each.read_bytes() for each in modules))
    return sha256(b"".join(texts)).hexdigest()
