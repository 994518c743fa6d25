"""A job's text <-> the fragment of a link that carries it, which browsers never send to a server."""

from __future__ import annotations

import base64
import zlib

#: Before the text in a fragment: deflated without a header, then base64 for URLs without `=`.
MARK = "#job="


def link_of(text: str, address: str) -> str:
    """A link to a page at `address` that carries a text."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(text.encode()) + packer.flush()
    return f"{address}{MARK}{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def text_of(link: str, most: int) -> str:
    """The text that a link carries. Raises `ValueError` where it carries none, or one of over `most`
    bytes."""
    _, mark, packed = link.partition(MARK)
    if not mark:
        raise ValueError(f"it has no `{MARK}`")
    unpacker = zlib.decompressobj(wbits=-15)
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        text = unpacker.decompress(data, most + 1)
    except (ValueError, zlib.error):
        raise ValueError("it is cut off or changed") from None
    if len(text) > most:
        raise ValueError(f"its job has more than {most:,} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it is cut off or changed")
    return text.decode()
