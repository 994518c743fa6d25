"""The long options of sbatch, pyxis and Shifter, and what getopt_long takes for them: a name, or the start of
one alone."""

_WORDS = """
    account acctg-freq array batch bb bbf begin chdir clusters cluster-constraint comment constraint
    container container-id container-image container-mounts container-workdir container-name
    container-save container-env container-mount-home no-container-mount-home container-remap-root
    no-container-remap-root container-writable container-readonly container-entrypoint
    no-container-entrypoint container-entrypoint-log no-container-entrypoint-log
    contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot
    dependency distribution error exclude exclusive export export-file extra extra-node-info
    get-user-env gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres
    gres-flags help hint hold ignore-pbs input job-name kill-on-invalid-dep licenses mail-type
    mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nice no-kill no-requeue
    nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
    open-mode output overcommit oversubscribe parsable partition power prefer priority profile
    propagate qos quiet reboot requeue reservation resv-ports segment signal sockets-per-node
    spread-job stepmgr switches test-only thread-spec threads-per-core time time-min tmp
    tres-bind tres-per-task uid umask usage use-min-nodes verbose version wait wait-all-nodes wckey
    wrap x11 consolidate-segments oom-kill-step spread-segments requeue-on-fail network-constraint
    image module volume
"""
LONG_NAMES = frozenset(_WORDS.split())
#: Second names, which the table of options of sbatch has beside the first ones (src/sbatch/opt.c).
SECOND_NAMES = {"tasks-per-node": "ntasks-per-node"}


def long_name(written: str) -> str:
    """The option that a name stands for: `err` is --error, and `node`, which starts three, is none."""
    if written in LONG_NAMES:
        return written
    names = (*LONG_NAMES, *SECOND_NAMES)
    found = [name for name in names if written and name.startswith(written)]
    return SECOND_NAMES.get(found[0], found[0]) if len(found) == 1 else written
