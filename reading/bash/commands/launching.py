"""Commands that start others -> launched commands: launchers, srun, mpirun, `bash -c`, scripts, sbatch."""

from collections.abc import Sequence
from itertools import dropwhile

from ... import sbatch_options
from ...facts import Unknown
from ...sbatch_options import BatchOption
from ..shell import DEEPEST, LaunchedCommand, Shell, Variable, text_key
from ..source import PlacedText, file_source, text_source
from ..statements.run_statement import run_text
from ..trace import MOST_COMMANDS, TracedCommand, program
from ..values import Piece, Text, Word, plain

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
PYTHONS = frozenset({"python", "python3", "python2", "pypy3"})
#: Programs that start a training program, or are one.
LAUNCHERS = frozenset(
    {
        "torchrun",
        "deepspeed",
        "accelerate",
        "megatron",
        "swift",
        "torchrun_main",
        "ds",
        "colossalai",
    }
)
#: Programs that train by themselves, each with the words behind its name that do.
TRAINERS = {
    "llamafactory-cli": frozenset({"train"}),
    "lmf": frozenset({"train"}),
    "axolotl": frozenset({"train"}),
    "trl": frozenset({"sft", "dpo", "grpo", "kto", "reward", "rloo"}),
}
#: Programs that start the command after their own options.
_WRAPPERS_WORDS = """srun mpirun mpiexec mpiexec.hydra orterun prun prterun aprun jsrun flux exec nohup
    time command builtin env sudo timeout numactl stdbuf taskset nice ionice ssh pdsh singularity apptainer
    docker podman nsys ncu rocprof unbuffer uv conda poetry pipenv hydra_pmi_proxy setsid xargs enroot
    catchsegv strace script ibrun lrun"""
WRAPPERS = frozenset(_WRAPPERS_WORDS.split())
#: Those of them that start a command behind `run` alone: `uv pip install torch` starts none.
_RUNNERS = frozenset({"uv", "conda", "poetry", "pipenv"})
#: Programs that take such words as texts or files, and start none of them.
_READERS_WORDS = "echo printf grep which pip pip3 rm cp mv ls cat git pgrep pkill sed awk tee"
READERS = frozenset(_READERS_WORDS.split())
SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch", ".sub", ".job")
#: Programs that start one another in one command, as srun does numactl and numactl python.
_MOST_WRAPPERS = 64


def launch(
    shell: Shell,
    source: PlacedText,
    words: Sequence[Word],
    place: tuple[str, int, int] | None = None,
) -> bool:
    """Follow a command that starts something; False when it does not. `place` is where it is written."""
    wrappers: list[tuple[Word, ...]] = []
    rest = list(words)
    while rest and len(wrappers) < _MOST_WRAPPERS:
        name = program(rest[0])
        if name == "sbatch":
            trace(shell, rest, place, wrappers)
            _submit(shell, rest)
            return True
        if name not in WRAPPERS and not _wraps(shell, rest):
            break
        index = _inner(rest)
        if index is None:
            break
        wrappers.append(tuple(rest[:index]))
        rest = rest[index:]
    trace(shell, rest, place, wrappers)
    if not rest or (program(rest[0]) in PYTHONS and any(word.text == "-c" for word in rest[1:3])):
        return False
    return _started(shell, source, rest, wrappers)


def trace(
    shell: Shell,
    words: Sequence[Word],
    place: tuple[str, int, int] | None,
    wrappers: Sequence[tuple[Word, ...]] = (),
) -> None:
    """Note a command, once where a loop or another branch runs it again."""
    if not words or len(shell.world.trace) == MOST_COMMANDS:
        return
    if program(words[0]) == "srun":
        behind = sbatch_options.options(words[1:], sbatch_options.SRUN)[1]
        if behind:
            wrappers = [*wrappers, tuple(words[: len(words) - len(behind)])]
            words = behind
    at = place or (words[0].path, words[0].line, words[0].column)
    captured = shell.output is not None
    ran = TracedCommand(
        tuple(words),
        tuple(wrappers),
        shell.wrappers,
        shell.scripts,
        at,
        captured,
        shell.opens,
        shell.background,
        bool(shell.hidden),
        shell.signals,
        tuple(shell.world.reads[shell.world.read_before :]),
    )
    shell.world.trace[ran] = None


def _wraps(shell: Shell, words: Sequence[Word]) -> bool:
    """Whether an unknown program is given a whole command to start: `./bind.sh torchrun ... train.py`."""
    name = program(words[0])
    if name in SHELLS | LAUNCHERS | PYTHONS | READERS or name.endswith(".py"):
        return False
    if name.endswith(SCRIPTS) and shell.world.find(words[0].pieces, shell) is not None:
        return False
    behind = list(dropwhile(lambda word: program(word) not in LAUNCHERS | PYTHONS, words))
    return any(word.text == "-m" or word.tail.endswith(".py") for word in behind[1:])


def _trains(words: Sequence[Word]) -> bool:
    """Whether a command is one of `TRAINERS` that trains: `trl sft`, and not `conda activate trl`."""
    return len(words) > 1 and words[1].text in TRAINERS.get(program(words[0]), ())


def _inner(words: Sequence[Word]) -> int | None:
    """Where the started command begins: at the first program that is known to be one."""
    if program(words[0]) in _RUNNERS and not any(word.text == "run" for word in words[1:]):
        return None
    for index, word in enumerate(words[1:], 1):
        name = program(word)
        known = name in LAUNCHERS | PYTHONS | SHELLS | WRAPPERS or name.endswith((*SCRIPTS, ".py"))
        if known or _trains(words[index : index + 2]):
            before = words[index - 1].lead
            if before in ("-J", "--job-name", "-o", "--output", "-n", "-e", "--error"):
                continue
            return index
    return None


def _started(
    shell: Shell, source: PlacedText, words: list[Word], wrappers: list[tuple[Word, ...]]
) -> bool:
    name = program(words[0])
    inner = shell.fork()
    inner.wrappers = (*shell.wrappers, *wrappers)
    _passed(inner, wrappers)
    shell_word = _in_shell(words) if name in LAUNCHERS else 0
    if shell_word:
        inner.wrappers = (*inner.wrappers, tuple(words[:shell_word]))
        words = words[shell_word:]
    if name in SHELLS or shell_word:
        followed = _interpreted(inner, words)
    elif name.endswith(SCRIPTS):
        followed = _follow(inner, words[0], words[1:])
    elif (
        name in LAUNCHERS | PYTHONS
        or _trains(words)
        or _module(words)
        or name.endswith(".py")
        or wrappers
        and _hidden_program(words)
    ):
        return _recorded(shell, inner, words)
    else:
        if isinstance(words[0].text, Unknown) and any(p.lead.startswith("--") for p in words[1:]):
            return _recorded(shell, inner, words)
        return False
    shell.files.update(inner.files)
    if shell.output is not None and inner.output is not None:
        shell.output[:] = inner.output
    return followed or _record(inner, words)


def _recorded(shell: Shell, inner: Shell, words: list[Word]) -> bool:
    """Note a launched program of a forked shell; what it prints is part of the shell's own output."""
    noted = _record(inner, words)
    if shell.output is not None and inner.output is not None:
        shell.output[:] = inner.output
    return noted


def _in_shell(words: Sequence[Word]) -> int:
    """Index of the shell that a launcher starts with `-c`, 0 where it starts none."""
    for index, word in enumerate(words[:-1]):
        if index and program(word) in SHELLS and words[index + 1].lead.startswith("-"):
            return index
    return 0


_MODULES = ("torch.distributed", "deepspeed", "torchtitan")


def _module(words: Sequence[Word]) -> bool:
    """`$PYTHON -m torch.distributed.run ...`"""
    return any(
        word.text == "-m"
        and words[index + 1].lead.startswith(("torch.distributed", "deepspeed", "torchtitan"))
        for index, word in enumerate(words[:-1])
    )


def _hidden_program(words: Sequence[Word]) -> bool:
    return any(word.lead.startswith("--") for word in words)


def _passed(shell: Shell, wrappers: Sequence[Sequence[Word]]) -> None:
    """Variables that `env`, `mpirun -x` and `--export` set for what they start, and SLURM for its steps."""
    if any(program(wrapper[0]) == "srun" for wrapper in wrappers):
        own = [
            item
            for wrapper in wrappers
            for item in sbatch_options.options(wrapper[1:], sbatch_options.SRUN)[0]
        ]
        shell.directives = (*shell.directives, *(item for item in own if item.name in _STEP))
        _of_the_step(shell)
    for wrapper in wrappers:
        for index, word in enumerate(wrapper[1:], 1):
            name, sign, _ = word.lead.partition("=")
            if name == "--export" and sign:
                _exports(shell, word.cut(len("--export=")))
            elif sign and name.isidentifier():
                value = word.cut(len(name) + 1).pieces
                shell.variables[name] = Variable(value, None, True)
            elif name in ("-genv", "-env") and index + 2 < len(wrapper):
                key = wrapper[index + 1].text
                if isinstance(key, str) and key.isidentifier():
                    shell.variables[key] = Variable(wrapper[index + 2].pieces, None, True)


def _of_the_step(shell: Shell) -> None:
    """slurmd sets the GPUs of a step over what the script exported (gres.html, "GPU Management")."""
    name = "CUDA_VISIBLE_DEVICES"
    old = shell.variables.get(name)
    if old is not None and old.value and sbatch_options.asks_for_gpus(shell.directives):
        unknown = Unknown(f"SLURM sets {name} for each step, to the GPUs that the step gets")
        shell.variables[name] = Variable((old.value[0]._replace(text=unknown),), None, True)


#: Options of srun that override the same ones of the job.
_STEP = frozenset(
    {"nodes", "ntasks", "ntasks-per-node", "gpus-per-node", "gres", "gpus", "gpus-per-task"}
)


def _exports(shell: Shell, word: Word) -> None:
    text = word.text
    if not isinstance(text, str):
        return
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if sign and name.isidentifier():
            piece = Piece(value, word.path, word.line, word.column)
            shell.variables[name] = Variable((piece,), None, True)


def _interpreted(shell: Shell, words: list[Word]) -> bool:
    """`bash -c TEXT name args`, `bash script args`, or `bash -s args` with the script on its input."""
    index = 1
    while index < len(words) and words[index].lead.startswith(("-", "+")):
        lead = words[index].lead
        index += 1
        if not lead.startswith("--") and "c" in lead and index < len(words):
            arguments = words[index + 1 :]
            shell.name = arguments[0].pieces if arguments else words[0].pieces
            return _child_text(shell, words[index].pieces, arguments[1:])
        if lead[:1] == "-" and lead[1:2] != "-" and "s" in lead:
            return shell.stdin is not None and _child_text(shell, shell.stdin, words[index:])
        if lead in ("-o", "+o", "-O", "--rcfile", "--init-file"):
            index += 1
    if index >= len(words):
        return shell.stdin is not None and _child_text(shell, shell.stdin, [])
    return _follow(shell, words[index], words[index + 1 :])


def _child(shell: Shell, arguments: Sequence[Word]) -> Shell:
    """The state of a child process: exported variables and its arguments."""
    child = shell.fork()
    child.variables = shell.exported()
    child.functions = {}
    child.hidden = []
    child.leaving = []
    child.depth = shell.depth + 3
    child.stdin = None
    child.positional = tuple(
        word.pieces
        for word in arguments
        if not all(p.split and isinstance(p.text, Unknown) and p.text.unset for p in word.pieces)
    )
    return child


def _child_text(shell: Shell, text: Text, arguments: Sequence[Word]) -> bool:
    child = _child(shell, arguments)
    if child.depth > 3 * DEEPEST:
        return True
    before = len(child.world.launches)
    run_text(child, text_source(text, shell.path))
    shell.files, shell.output = child.files, child.output
    return bool(shell.world.launches[before:]) or not shell.wrappers


def _follow(shell: Shell, script: Word, arguments: Sequence[Word]) -> bool:
    if written := shell.files.get(text_key(script.pieces)):
        shell.name = script.pieces
        return _child_text(shell, written, arguments)
    found = shell.world.find(script.pieces, shell)
    shown = script.text if isinstance(script.text, str) else f"...{script.tail}"
    place = (script.path, script.line, script.column)
    if found is None or shell.depth > 3 * DEEPEST:
        shell.world.note(f"`{shown}` is started, and is not there to be read", place, True)
        return False
    path, text = found
    if path in shell.scripts:
        shell.world.note(f"`{shown}` starts itself", place, itself=shown)
        return True
    child = _child(shell, arguments)
    child.path = path
    child.name = (Piece(path, path, 1, 1),)
    child.scripts = (*shell.scripts, path)
    shell.world.read[path] = text
    run_text(child, file_source(path, text))
    shell.files, shell.output = child.files, child.output
    return True


def _submit(shell: Shell, words: Sequence[Word]) -> None:
    """`sbatch [options] script args`, or a command in `--wrap`."""
    given, rest = sbatch_options.options(words[1:])
    inner = shell.fork()
    exports = sbatch_options.last(given, "export")
    text = plain(exports.value) if exports is not None and exports.value else "ALL"
    names = text.split(",") if isinstance(text, str) else ["ALL"]
    if "ALL" not in names:
        inner.variables = {name: value for name, value in inner.variables.items() if name in names}
    if exports is not None and exports.value:
        _exports(inner, Word(exports.value))
    wrapped = sbatch_options.last(given, "wrap")
    if wrapped is not None and wrapped.value:
        enter_job(inner, given)
        _child_text(inner, wrapped.value, [])
        return
    if not rest and shell.stdin:
        job = text_source(shell.stdin, shell.path)
        enter_job(inner, [*sbatch_options.header(job), *given])
        _child_text(inner, shell.stdin, [])
    if not rest:
        return
    submitted = _job(shell, rest[0])
    own = list(sbatch_options.header(submitted)) if submitted else []
    enter_job(inner, [*own, *given])
    if not _follow(inner, rest[0], rest[1:]):
        _record(inner, list(words))


def _job(shell: Shell, script: Word) -> PlacedText | None:
    """The text of a submitted script: one that this script wrote, or a file."""
    if written := shell.files.get(text_key(script.pieces)):
        return text_source(written, shell.path)
    found = shell.world.find(script.pieces, shell)
    return file_source(*found) if found else None


def enter_job(shell: Shell, given: Sequence[BatchOption]) -> None:
    """Set the variables that SLURM sets in a job."""
    shell.directives = tuple(given)
    for name, value in sbatch_options.variables(given).items():
        shell.variables[name] = Variable(value, None, True)


def _record(shell: Shell, words: list[Word]) -> bool:
    """Record a launched command."""
    found = LaunchedCommand(
        tuple(words),
        shell.wrappers,
        {name: value.value for name, value in shell.exported().items() if value.elements is None},
        shell.variables,
        shell.directives,
        shell.files,
        shell.scripts,
        shell.cwd,
    )
    shell.world.launch(found)
    if shell.output is not None:
        unknown = Unknown(f"what `{program(words[0])}` prints is not known before it runs")
        shell.output.append(words[0].pieces[0]._replace(text=unknown))
    return True
