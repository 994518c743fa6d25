"""`parc sweep --ray` where there is no Ray; acceptance has a real one."""

from __future__ import annotations

import socket
import sys
from threading import Thread
from types import SimpleNamespace

import pytest

from parc.sweep.ray_cluster import token_wanted
from tests.support.command_line import Parc

COMMAND = ("sweep", "job.par", "--over", "cluster.nodes=1", "-o", "kept")


def test_without_ray_the_error_says_how_to_get_it(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    ran = run(*COMMAND, "--ray", "auto")
    assert ran.code == 2 and "PAR177" in ran.err and "parc-compiler[ray]" in ran.err


def test_a_cluster_that_is_not_there_is_told_at_once(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unheard.getsockname()[1]}"
        ran = run(*COMMAND, "--ray", address)
    assert ran.code == 2 and "PAR177" in ran.err and f"answers at `{address}`" in ran.err


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad request\r\n\r\n", b"-ERR\r\n"])
def test_what_listens_and_is_no_ray_is_told_at_once(
    answer: bytes, run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(1024)
                peer.sendall(answer)

        thread = Thread(target=serve)
        thread.start()
        ran = run(*COMMAND, "--ray", f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert ran.code == 2 and "PAR177" in ran.err and "no Ray" in ran.err


#: SETTINGS of HTTP/2, and what a Ray that wants tokens says to a call without one.
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
REFUSED = b"grpc-status\x0216grpc-message\x10InvalidAuthToken: Authentication token is missing"


def test_a_cluster_that_wants_a_token_is_answered_with_the_line_to_type(
    run: Parc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(1024)
                peer.sendall(SETTINGS)
                heard.append(peer.recv(1024))
                peer.sendall(REFUSED)

        thread = Thread(target=serve)
        thread.start()
        ran = run(*COMMAND, "--ray", f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert heard[0].count(b"CheckAlive") == 1 and b"authorization" not in heard[0]
    assert ran.code == 2 and "needs a token" in ran.err
    assert "`export RAY_AUTH_MODE=token`" in ran.err


@pytest.mark.parametrize("answer", [b"", b"\0" * 70_000, b"grpc-status\x010"])
def test_any_other_answer_is_no_wish_for_a_token(answer: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def serve() -> None:
            theirs.sendall(answer)
            theirs.shutdown(socket.SHUT_WR)

        thread = Thread(target=serve)
        thread.start()
        assert not token_wanted(ours)
        ours.close()
        thread.join()


def test_a_port_that_cannot_be_is_told_at_once(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    for port in ("99999", "9" * 5000):
        ran = run(*COMMAND, "--ray", f"127.0.0.1:{port}")
        assert ran.code == 2 and "expected a port, not 99999" in ran.err and len(ran.err) < 9000


def test_an_empty_address_is_wrong_usage(run: Parc) -> None:
    assert run(*COMMAND, "--ray", "").code == 2
