"""A search that lasts: its line on a terminal, and Ctrl-C."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

JOB = """
model big from std.llama3_405b {}
cluster any from std.h100_pod { nodes = 1..4096 }
train { seq_len = 8192; global_batch = 27720; tokens = 1T }
target megatron {}
target torchtitan {}
"""

# How far a search comes within its quiet seconds is the machine's matter: here it speaks from the start.
TALKATIVE = """
import sys
from parc.__main__ import main
from parc.compiler.search import progress
progress.QUIET_SECONDS = 0.0
sys.exit(main())
"""


def test_a_terminal_shows_the_best_so_far_and_ctrl_c_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "job.par"
    path.write_text(JOB)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", TALKATIVE, "plan", str(path)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "300"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = shown(ours, b"best so far", 120)
    assert b"job: megatron, torchtitan \xc2\xb7 megatron: " in seen, seen
    process.send_signal(signal.SIGINT)
    after = shown(ours, b"best so far for", 60)
    assert process.wait(60) == 130
    assert b"interrupted" in after and b"MFU" in after and b"Traceback" not in after


def shown(terminal: int, text: bytes, seconds: float) -> bytes:
    """What a terminal shows until a text comes."""
    seen, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and text not in seen:
        if select.select([terminal], [], [], 1.0)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    return seen
