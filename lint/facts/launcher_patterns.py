"""How programs that start others look in the text of a script."""

from __future__ import annotations

#: Start the processes of a node.
LAUNCHERS = (
    r"(?:\btorchrun\b|torch\.distributed\.(?:run|launch)\b"
    r"|\bdeepspeed\s+(?:-|\S*\.py)|\baccelerate\s+launch\b)"
)
#: srun that starts one of them, in the same statement.
UNDER_SRUN = rf"\bsrun\b.*{LAUNCHERS}"
#: Reach other nodes without srun.
REACHES_NODES = (
    r"\b(?:srun|mpirun|mpiexec|ssh|pdsh|clush|parallel|ibrun|jsrun|orterun|blaunch|dsh)\b"
    r"|--hostfile|--launcher|\bray\b|\bhorovodrun\b"
)
