"""Jobs -> their rows, solved by the workers of a Ray cluster: the rows that processes of our own give."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from parc.dsl.diagnostics import Diagnostic, JobError

from .. import codes
from ..printing.plan_json import JsonObject
from .point import failed, killed, solved

if TYPE_CHECKING:
    from .solver_processes import Task

#: How often a point is begun whose worker or node is lost.
ATTEMPTS = 4
#: Points that wait on the cluster for each of its cores, so that none idles while results travel.
AHEAD = 2
#: Until a point is begun again whose worker failed: by then a lost node is mostly known to be lost.
PAUSE_SECONDS = 1
#: How long a cluster may take to accept a connection.
PATIENCE_SECONDS = 10


def solve_on_ray(
    tasks: Iterable[Task], targets: Sequence[str], address: str
) -> Iterator[tuple[int, JsonObject]]:
    """The row of each task by its number, in the order in which they end.

    What a lost worker or node was solving is begun again, then refused. Raises `JobError` where there is no
    cluster, where its workers lack this release of parc, or where the node goes that this machine is.
    """
    # Ray tells of lost nodes on standard output, where the result belongs.
    with redirect_stdout(sys.stderr):
        ray = _connected(address)
        try:
            _refuse_other_releases(ray, address)
            yield from _solved(ray, tasks, targets)
        except ray.exceptions.LocalRayletDiedError:
            raise JobError([_gone(address)]) from None
        finally:
            ray.shutdown()


def _solved(
    ray: Any, tasks: Iterable[Task], targets: Sequence[str]
) -> Iterator[tuple[int, JsonObject]]:
    """As many tasks at once as keep every core of the cluster busy: the others are not even loaded."""
    solve = ray.remote(max_retries=ATTEMPTS - 1)(solved)
    most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting, running = iter(tasks), dict[Any, _Begun]()

    def begin(task: Task, attempt: int) -> None:
        running[solve.remote(task[1], tuple(targets))] = _Begun(task, attempt)

    while True:
        while len(running) < most and (task := next(waiting, None)):
            begin(task, 1)
        if not running:
            return
        (ready,), _ = ray.wait(list(running), num_returns=1)
        begun = running.pop(ready)
        try:
            yield begun.task[0], _row(ray, ready, targets)
        except OSError as error:
            # What a node runs that goes away fails before the node is known to be lost.
            if begun.attempt == ATTEMPTS:
                yield begun.task[0], failed(targets, ATTEMPTS, error)
            else:
                time.sleep(PAUSE_SECONDS)
                begin(begun.task, begun.attempt + 1)


class _Begun(NamedTuple):
    task: Task
    attempt: int


def _row(ray: Any, ready: Any, targets: Sequence[str]) -> JsonObject:
    """Raises `OSError` where the worker did, outside of parc's own solving, and what ends the whole sweep."""
    lost = ray.exceptions
    try:
        row: JsonObject = ray.get(ready)
    except (OSError, lost.RayTaskError, lost.RaySystemError, lost.LocalRayletDiedError):
        raise
    except ray.exceptions.RayError:
        return killed(targets, ATTEMPTS)
    return row


def _connected(address: str) -> Any:
    """The module `ray`, connected to a running cluster."""
    try:
        import ray
    except ImportError:
        help = "install parc-compiler[ray], or leave out --ray to use this machine's cores"
        raise JobError([Diagnostic(codes.NO_RAY, "ray is not installed here", help=help)]) from None
    help = "`ray start --head` prints its address; `auto` is the one that runs on this machine"
    try:
        if _knock(address):
            help = "it may be of another release of Ray, or want another token (`RAY_AUTH_TOKEN`)"
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise JobError([_not_there(address, error, help)]) from None
    return ray


def _knock(address: str) -> bool:
    """Whether the address is a host:port. Raises `OSError` or `ValueError` where no Ray is there, which Ray
    would try for minutes, and `JobError` where it needs a token."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdecimal()):
        return False
    if len(port) > 5 or int(port) >= 2**16:
        raise ValueError(f"expected a port, not {port[:20]}")
    with socket.create_connection((host.strip("[]"), int(port)), PATIENCE_SECONDS) as peer:
        if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
            _greet(peer)
            if AUTHENTICATION not in os.environ and token_wanted(peer):
                raise JobError([_token_wanted(address)])
    return True


#: What opens a connection of HTTP/2, in which Ray's servers speak, and the type of the frame that answers it
#: (RFC 9113, 3.4: SETTINGS, whose type is the fourth byte).
GREETING, SETTINGS = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), 4


def _greet(peer: socket.socket) -> None:
    """Raises `OSError` or `ValueError` where what listens is something else."""
    peer.sendall(GREETING)
    answer = b""
    while len(answer) <= 3 and (more := peer.recv(9)):
        answer += more
    if answer[3:4] != bytes([SETTINGS]):
        raise ValueError("the server at this address is not Ray")


#: Ray sends its token, of `RAY_AUTH_TOKEN` or `~/.ray/auth_token`, to an address that is given where this is
#: `token`; without it, it tries for 20 s and says nothing of tokens (ray/_private/worker.py, 2.60).
AUTHENTICATION = "RAY_AUTH_MODE"
#: What a Ray that needs a token says to a call without one (ray 2.60, C++ `ServerCall`).
WITHOUT_TOKEN = b"InvalidAuthToken"


def token_wanted(peer: socket.socket) -> bool:
    """Whether a Ray that was greeted refuses a call because it has no token."""
    answer = b""
    peer.settimeout(PATIENCE_SECONDS)
    try:
        peer.sendall(_call(b"/ray.rpc.NodeInfoGcsService/CheckAlive"))
        while b"grpc-status" not in answer and WITHOUT_TOKEN not in answer:
            if len(answer) > 1 << 16 or not (more := peer.recv(4096)):
                break
            answer += more
    except OSError:
        return False
    return WITHOUT_TOKEN in answer


def _call(path: bytes) -> bytes:
    """An empty call of gRPC as frames of HTTP/2: HEADERS whose block ends, and DATA that ends the stream (RFC
    9113, 6.1 and 6.2), with headers of HPACK's static table (RFC 7541, appendix A): 3 `:method: POST`, 6
    `:scheme: http`, 4 `:path`, 1 `:authority`, 31 `content-type`."""
    literals = ((b"\x04", path), (b"\x01", b"ray"), (b"\x0f\x10", b"application/grpc"))
    block = b"\x83\x86" + b"".join(name + bytes([len(text)]) + text for name, text in literals)
    block += b"\x00\x02te\x08trailers"
    return _frame(1, 4, block) + _frame(0, 1, bytes(5))


def _frame(kind: int, flags: int, payload: bytes) -> bytes:
    """A frame of the first stream that a client opens."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags, 0, 0, 0, 1]) + payload


def _token_wanted(address: str) -> Diagnostic:
    message = f"the Ray cluster `{address}` needs a token"
    help = (
        f"`export {AUTHENTICATION}=token`; the token is that of the cluster's `ray get-auth-token`, "
        "in ~/.ray/auth_token or `RAY_AUTH_TOKEN`"
    )
    return Diagnostic(codes.NO_RAY, message, help=help)


def _not_there(address: str, error: Exception, help: str) -> Diagnostic:
    reason = str(error).strip().partition("\n")[0][:200]
    message = f"no Ray cluster answers at `{address}`: {reason}"
    return Diagnostic(codes.NO_RAY, message, help=help)


def _gone(address: str) -> Diagnostic:
    message = f"the Ray cluster `{address}` was lost: its node on this machine ended"
    help = "begin the same command with -o once more when the cluster is back: points that are done are kept"
    return Diagnostic(codes.NO_RAY, message, help=help)


def _refuse_other_releases(ray: Any, address: str) -> None:
    """Raises `JobError` unless a worker has the parc that runs here: rows must not depend on where."""
    own = version("parc-compiler")
    try:
        found = ray.get(ray.remote(_release).remote())
    except ray.exceptions.LocalRayletDiedError:
        raise
    except ray.exceptions.RayError:
        found = None
    if found != own:
        has = f"parc {found}" if found else "no parc that loads"
        message = f"the workers of the Ray cluster `{address}` have {has}, this is parc {own}"
        help = f"install parc-compiler {own} in the Python of its workers"
        raise JobError([Diagnostic(codes.NO_RAY, message, help=help)])


def _release() -> str:
    return version("parc-compiler")
