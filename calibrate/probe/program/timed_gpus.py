"""Times kernels, links and copies of the GPUs at hand: python probe.py ROWS.jsonl [--minutes M] [--cpu].

Needs PyTorch alone. Started once on each node (by hand, or by srun) it starts a process for each GPU;
torchrun works too. It appends a line of JSON for each case to ROWS and goes on where an earlier run ended.
`parc measure --rows ROWS.jsonl -o site.par` makes a cluster of them.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import stat
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .cases import Case, cases, key
from .clock import timed
from .kernels import Kernels
from .machine import available, machine
from .ranks import Failed, Ranks
from .starting import start


def earlier(path: str, now: Case) -> set[str]:
    """Keys of the cases that the file holds; a line that was cut is taken off.

    Raises Failed for rows of another machine, and for a link or a second name of a file, by which something
    else would be written.
    """
    if not os.path.lexists(path):
        return set()
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise Failed(f"`{path}` is not a regular file with one name: name another file")
    with open(path, "rb", opener=_without_links) as file:
        whole = file.read()
    whole = whole[: whole.rfind(b"\n") + 1]
    try:
        found = [json.loads(line) for line in whole.splitlines()]
        before = [case for case in found if case["kind"] == "machine"]
        if found and found[0]["kind"] != "machine":
            raise ValueError
        same = ("format", "name", "ranks", "per_node", "memory")
        other = [
            (name, case[name], now[name])
            for case in before
            for name in same
            if case[name] != now[name]
        ]
    except (ValueError, KeyError, TypeError):
        raise Failed(
            f"`{path}` holds something else than rows of this probe: name another file"
        ) from None
    if other:
        name, old, new = other[0]
        raise Failed(
            f"`{path}` is of another machine ({name} {old}, here {new}): name another file"
        )
    if found:
        os.truncate(path, len(whole))
    elif os.path.getsize(path):
        raise Failed(f"`{path}` holds something else than rows of this probe: name another file")
    return {key(case) for case in found}


def probe(arguments: argparse.Namespace) -> None:
    """Times one case after the other until all are done or time is up; rank 0 writes."""
    import torch

    warnings.filterwarnings("ignore", category=FutureWarning)  # names that PyTorch 2.13 deprecates
    device = "cpu" if arguments.cpu else "cuda"
    if device == "cuda":
        _wake(torch)
    ranks = Ranks(torch, device)
    about = machine(torch, ranks)
    dtypes, attentions = available(torch, device)
    kernels = Kernels(ranks, dtypes[0])
    planned = cases(device, dtypes, attentions, ranks.count, ranks.on_node)
    done, why = _on_first(ranks, lambda: earlier(arguments.rows, about))
    if why:
        ranks.leave()
        raise Failed(why)
    begun = time.monotonic()
    if ranks.rank == 0:
        _append(arguments.rows, {**about, "cases": len(planned)})
    for number, case in enumerate(planned):
        if key(case) in done:
            continue
        if ranks.agree(time.monotonic() - begun)[0] > 60.0 * arguments.minutes:
            break
        row = timed(case, kernels)
        if ranks.rank == 0:
            _append(arguments.rows, row)
            _draw(number + 1, len(planned), begun)
    ranks.leave()


def _on_first(ranks: Ranks, ask: Callable[[], set[str]]) -> tuple[set[str], str]:
    """The findings of rank 0, on all ranks, and why it finds nothing."""
    answer: tuple[set[str], str] = (set(), "")
    if ranks.rank == 0:
        try:
            answer = (ask(), "")
        except (Failed, OSError) as error:
            answer = (set(), str(error))
    of_first: tuple[set[str], str] = ranks.agree(answer)[0]
    return of_first


def _wake(torch: Any) -> None:
    """Takes this rank's GPU and runs something on it."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    try:
        torch.cuda.set_device(local)
        torch.ones(1, device="cuda").add_(1.0).item()
    except (RuntimeError, AssertionError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise Failed(f"GPU {local} does not answer, take its node out: {why}") from None


def _append(path: str, row: Case) -> None:
    with open(path, "a", encoding="utf-8", opener=_without_links) as file:
        file.write(json.dumps(row) + "\n")


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _draw(done: int, planned: int, begun: float) -> None:
    if sys.stderr.isatty():
        filled = "=" * (30 * done // planned)
        end = "\n" if done == planned else ""
        text = f"\r[{filled:30}] {done}/{planned}, {time.monotonic() - begun:.0f} s"
        print(text, end=end, file=sys.stderr, flush=True)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", help="file to append to")
    parser.add_argument("--minutes", type=float, default=5.0, help="stop after; 5 unless given")
    parser.add_argument("--cpu", action="store_true", help="leave GPUs alone: small sizes, gloo")
    parser.add_argument("--nodes", type=int, default=1, help="nodes on each of which it is started")
    parser.add_argument(
        "--procs", type=int, help="GPUs that each node must have; with --cpu, processes"
    )
    arguments = parser.parse_args(words)
    try:
        if "RANK" not in os.environ:
            return start(arguments, words)
        probe(arguments)
    except ImportError as error:
        print(f"probe: {sys.executable} has no PyTorch: {error}", file=sys.stderr)
        return 2
    except (Failed, OSError, RuntimeError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        print(
            f"probe: {socket.gethostname()}, rank {os.environ.get('RANK', '-')}: {why}",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # PyTorch's threads may abort a process that takes itself down in order
