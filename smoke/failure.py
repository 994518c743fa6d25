"""The lines of a failed run -> those that tell why: the first failing rank's traceback, and the end."""

import itertools
import re
from collections.abc import Iterator, Sequence

#: Last lines of the log, and of the traceback, that a failed run shows.
SHOWN, SHOWN_TRACEBACK = 12, 14
#: What torch (2.2 and later) and torchrun's --tee put in front of each line of a rank.
PREFIX = re.compile(r"^\[(?:rank|default)(\d+)\]: ?")
#: Lines from an exception on that has no traceback.
FOLLOWING = 4
TRACEBACK = "Traceback (most recent call last):"
#: torch.distributed.elastic's summary: the rank that failed first, of which it knows no more.
FIRST_RANK = re.compile(
    r"\A(?>.*?Root Cause \(first observed failure\):).*?^[^\S\n]*rank\s*:\s*(\d{1,9}) ",
    re.DOTALL | re.MULTILINE,
)
#: Frames of torchrun itself, and what ranks say when another one has ended.
TORCHRUN = "torch/distributed/elastic/"
CONSEQUENCE = re.compile(
    r"ChildFailedError|SignalException|Connection (?:closed|reset)|Broken pipe|DistBackendError|recvValue|"
    r"remote process exited"
)
ERROR = re.compile(r"^[\w.]*(?:Error|Exception|Exit|Interrupt)\b")


def excerpt(lines: Sequence[str]) -> Iterator[str]:
    """The last lines of the traceback that explains the failure, and of the log; without empty ones."""
    texts = [text.rstrip() for text in lines if text.strip()]
    tail = texts[-SHOWN:]
    cause = root_cause(texts)[-SHOWN_TRACEBACK:]
    if not set(cause) <= set(tail):
        yield from cause
    yield from tail


def root_cause(texts: Sequence[str]) -> list[str]:
    """The traceback of the rank that torchrun names, else of the first rank that is named, else the last one;
    without any, the first exception and what follows it. What another failure explains is left out.
    """
    found = [block for block in _tracebacks(texts) if not _is_consequence(block[1])]
    summary = FIRST_RANK.search("\n".join(texts))
    of_ranks = [(rank, block) for rank, block in found if rank is not None]
    named = [block for rank, block in of_ranks if summary and rank == summary[1]]
    for blocks in (named, [block for _, block in of_ranks], [block for _, block in found[-1:]]):
        if blocks:
            return blocks[0]
    errors = (index for index, text in enumerate(texts) if ERROR.match(_bare(text)))
    first = next(errors, len(texts))
    return list(texts[first : first + FOLLOWING])


def _is_consequence(block: Sequence[str]) -> bool:
    return (
        TORCHRUN in "".join(block)
        or CONSEQUENCE.search(" ".join(block[-2 - FOLLOWING :])) is not None
    )


def _tracebacks(texts: Sequence[str]) -> Iterator[tuple[str | None, list[str]]]:
    """Each traceback with its exception, and the rank that printed it where the lines name it."""
    for index, text in enumerate(texts):
        if _bare(text) == TRACEBACK:
            rank = _rank(text)
            own = [other for other in texts[index:] if _rank(other) == rank]
            yield rank, own[: _length(own)]


def _length(own: Sequence[str]) -> int:
    """Lines up to the first that is not indented, which names the exception, and what it says in more lines:
    indented ones, and a few others where the rank is named, which then prints nothing else."""
    flat = (index for index, text in enumerate(own) if not _bare(text).startswith(" "))
    _, last, *_ = [*itertools.islice(flat, 2), len(own), len(own)]
    details = itertools.takewhile(lambda text: _bare(text).startswith(" "), own[last + 1 :])
    end = last + 1 + len(list(details))
    following = itertools.takewhile(
        lambda text: _rank(text) is not None and _bare(text) != TRACEBACK,
        own[end : end + FOLLOWING],
    )
    return end + len(list(following))


def _rank(text: str) -> str | None:
    match = PREFIX.match(text)
    return match[1] if match else None


def _bare(text: str) -> str:
    return PREFIX.sub("", text)
