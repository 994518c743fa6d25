"""`parc sweep --ray` where there is no Ray; acceptance has a real one."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace

import pytest

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


def test_an_empty_address_is_wrong_usage(run: Parc) -> None:
    assert run(*COMMAND, "--ray", "").code == 2
