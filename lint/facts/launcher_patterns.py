"""Regular expressions for commands that start the processes of a job, in the text of a script."""

#: Commands that start the processes of one node.
LAUNCHERS = (
    r"(?:\btorchrun\b|torch\.distributed\.(?:run|launch)\b"
    r"|(?<![-./\w])deepspeed\s+(?:-|\S*\.py)|\baccelerate\s+launch\b)"
)
#: srun with one of LAUNCHERS in the same statement.
UNDER_SRUN = rf"^(?>.*?\bsrun\b).*{LAUNCHERS}"
#: Commands and options that start processes on other nodes without srun.
REACHES_NODES = (
    r"\b(?:srun|mpirun|mpiexec|ssh|pdsh|clush|parallel|ibrun|jsrun|orterun|blaunch|dsh)\b"
    r"|--hostfile|--launcher|\bray\b|\bhorovodrun\b"
)
