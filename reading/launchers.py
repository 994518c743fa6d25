"""A launched command -> its launcher, the program it starts, and how many processes on how many nodes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

from . import sbatch_options
from .bash.commands.launching import PYTHONS, TRAINERS
from .bash.shell import LaunchedCommand
from .bash.trace import program
from .bash.values import Text, Word, plain, whole, word
from .command_options import CommandOptions, launcher_options, options
from .facts import Unknown
from .sbatch_options import BatchOption

Number = int | Unknown
Found = tuple[str, Number, Word]

#: Modules that are launchers when `python -m` runs them.
MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "torch.distributed.elastic": "torchrun",
    "deepspeed": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
    "accelerate.commands.launch": "accelerate",
    "accelerate": "accelerate",
}
#: CommandOptions of launchers that take no value.
_SWITCHES_WORDS = """--standalone --no-python --run-path --use-env --force-multi --no-local-rank --no-ssh
    --save-pid --enable-each-rank-log --no-ssh-check --multi-gpu --use-deepspeed --use-fsdp --use-megatron-lm
    --same-network --debug --quiet -q"""
SWITCHES = frozenset(_SWITCHES_WORDS.split())
_PYTHON_VALUES = ("-X", "-W")


@dataclass(frozen=True)
class Started:
    """A program with its launcher. `entry` is its file or module, None where arguments hide it."""

    launcher: str
    given: CommandOptions
    entry: Word | None
    arguments: tuple[Word, ...]
    launch: LaunchedCommand
    _read: dict[frozenset[str], CommandOptions] = field(default_factory=dict, repr=False)

    @property
    def program(self) -> str:
        """Name of the program's file without its folder, or its module; "" where it is hidden."""
        return "" if self.entry is None else self.entry.tail.rpartition("/")[2]

    def options(self, switches: frozenset[str] = frozenset()) -> CommandOptions:
        """The program's own options; `switches` take no value."""
        if switches not in self._read:
            entry = self.entry or self.launch.words[0]
            self._read[switches] = options(entry, self.arguments, switches)
        return self._read[switches]

    @property
    def shape(self) -> dict[str, tuple[Number, Word]]:
        """The facts `nodes`, `gpus_per_node` and `gpus` with their places, as the command states them."""
        return {name: (value, place) for name, value, place in SHAPES[self.launcher](self)}


def started(launch: LaunchedCommand) -> Started:
    words = launch.words
    name = program(words[0])
    rest = list(words[1:])
    if name in PYTHONS or (name not in SHAPES and any(item.text == "-m" for item in rest[:6])):
        return _python(launch, rest)
    if name in ("accelerate", "ds", "torchrun_main"):
        name = {"accelerate": "accelerate", "ds": "deepspeed", "torchrun_main": "torchrun"}[name]
        rest = rest[1:] if rest and rest[0].text == "launch" else rest
    if name in ("torchrun", "deepspeed", "accelerate"):
        return _launched(launch, name, rest)
    if name in ("megatron", "swift"):
        given = launcher_options(words[0], [])
        return Started("swift", given, words[0], tuple(rest), launch)
    if name in TRAINERS and len(rest) > 1:
        return _trainer(launch, name, rest[1:])
    before = list(takewhile(lambda item: not item.lead.startswith("-"), words))
    index = next((i for i, item in enumerate(before) if item.tail.endswith(".py")), None)
    if index is None:
        return _started(launch, None, rest)
    return _started(launch, words[index], list(words[index + 1 :]))


def _started(launch: LaunchedCommand, entry: Word | None, rest: list[Word]) -> Started:
    """A program that is started directly, or by a launcher that starts a shell."""
    launcher, given = "none", launcher_options(launch.words[0], [])
    for wrapper in launch.wrappers:
        name = program(wrapper[0])
        if name in SHAPES:
            launcher, given = name, launcher_options(wrapper[0], wrapper[1:])
    return Started(launcher, given, entry, tuple(rest), launch)


def _python(launch: LaunchedCommand, rest: list[Word]) -> Started:
    """`python [-u] script.py ...` or `python -m module ...`"""
    while rest:
        text = rest[0].lead
        if text == "-m" and len(rest) > 1:
            module = str(rest[1].text)
            if module in MODULES:
                after = rest[2:]
                if MODULES[module] == "accelerate" and after and after[0].text == "launch":
                    after = after[1:]
                return _launched(launch, MODULES[module], after)
            return _started(launch, rest[1], rest[2:])
        if not text.startswith("-") and not rest[0].hidden:
            break
        rest = rest[2:] if text in _PYTHON_VALUES else rest[1:]
    entry = rest[0] if rest else None
    return _started(launch, entry, rest[1:])


def _launched(launch: LaunchedCommand, launcher: str, rest: list[Word]) -> Started:
    """A program of torchrun, deepspeed or accelerate, whose options end at its file or `-m module`."""
    index = entry_index(rest)
    given = launcher_options(launch.words[0], [_named(item) for item in rest[:index]])
    entry = rest[index] if index < len(rest) else None
    return Started(launcher, given, entry, tuple(rest[index + 1 :]), launch)


def _trainer(launch: LaunchedCommand, name: str, rest: list[Word]) -> Started:
    """`llamafactory-cli train`, `axolotl train` or `trl sft`, which start their launcher themselves."""
    command = launch.words[0]
    if (
        name == "trl"
    ):  # trl/cli/commands/training.py: what accelerate knows among its options goes there
        return Started("accelerate", launcher_options(command, rest), command, tuple(rest), launch)
    if name != "axolotl":
        return Started("llamafactory", launcher_options(command, []), command, tuple(rest), launch)
    # axolotl/cli/utils/train.py: what stands behind `--`, and this option, are the launcher's.
    own = list(takewhile(lambda item: item.text != "--", rest))
    chosen = launcher_options(command, own).text("--launcher")
    given = [*_option(own, "--num-processes"), *rest[len(own) + 1 :]]
    launcher = {"torchrun": "torchrun", "python": "none"}.get(str(chosen), "accelerate")
    return Started(launcher, launcher_options(command, given), command, tuple(own), launch)


def _option(words: Sequence[Word], name: str) -> list[Word]:
    """The words of one option among others; none where it is not given."""
    option = launcher_options(words[0], words).values.get(name) if words else None
    return [] if option is None else [option.word, *option.values]


_SHORT = {"-i": "--include", "-e": "--exclude", "-H": "--hostfile"}


def _named(item: Word) -> Word:
    long = _SHORT.get(item.lead)
    return item if long is None else word(long, item.path, item.line, item.column)


def entry_index(words: Sequence[Word]) -> int:
    """Where the program of a launcher stands among its words; their number where it is not found."""
    index = 0
    while index < len(words):
        item = words[index]
        name, sign, _ = item.lead.partition("=")
        plain_name = name.replace("_", "-")
        if plain_name in ("-m", "--module"):
            rest = next(
                (i for i, w in enumerate(words[index + 1 :], index + 1) if w.lead[:1] != "-"), 0
            )
            return rest or len(words)
        if name.startswith("-"):
            index += 1 if sign or plain_name in SWITCHES else 2
        elif item.hidden is not None and not item.tail.endswith(".py"):
            index += 1
        else:
            return index
    return next((i for i, item in enumerate(words) if item.tail.endswith(".py")), len(words))


def _torchrun(started: Started) -> Iterator[Found]:
    nodes, each = _counted(started, "--nnodes"), _counted(started, "--nproc-per-node")
    yield "nodes", *nodes
    yield "gpus_per_node", *each
    yield "gpus", _product(nodes[0], each[0]), nodes[1]


def _counted(started: Started, name: str) -> tuple[Number, Word]:
    """One of torchrun's counts, which its environment says where the command does not: PET_NNODES
    (torch/distributed/argparse_util.py)."""
    given = started.given
    variable = "PET_" + name.removeprefix("--").replace("-", "_").upper()
    value = started.launch.environment.get(variable)
    if given.given(name) or not value:
        return given.count(name), given.place(name)
    return given.absent(name) or _number(value), Word(value)


def _product(one: Number, two: Number) -> Number:
    if isinstance(one, Unknown) or isinstance(two, Unknown):
        return one if isinstance(one, Unknown) else two
    return one * two


def _deepspeed(started: Started) -> Iterator[Found]:
    """Without options deepspeed takes every GPU in its hostfile (deepspeed/launcher/runner.py)."""
    given = started.given
    include = given.text("--include")
    nodes = given.number("--num-nodes")
    each = given.number("--num-gpus")
    if isinstance(include, str):
        slots = [part.partition(":")[2] for part in include.split("@")]
        same = {len(slot.split(",")) for slot in slots if slot}
        nodes = len(slots)
        each = same.pop() if len(same) == 1 and all(slots) else None
    everything = Unknown("deepspeed takes all nodes of the hostfile, which is not here")
    nodes = everything if nodes is None else nodes
    each = Unknown("deepspeed takes all GPUs that it finds") if each is None else each
    yield "nodes", nodes, given.place("--include", "--num-nodes")
    yield "gpus_per_node", each, given.place("--include", "--num-gpus")
    yield "gpus", _product(nodes, each), given.place("--include", "--num-nodes", "--num-gpus")


def _accelerate(started: Started) -> Iterator[Found]:
    given = started.given
    unknown = Unknown("accelerate takes it from its own config file")
    gpus, nodes = given.number("--num-processes"), given.number("--num-machines")
    gpus = unknown if gpus is None else gpus
    nodes = unknown if nodes is None else nodes
    yield "nodes", nodes, given.place("--num-machines")
    yield "gpus", gpus, given.place("--num-processes")
    each: Number = nodes if isinstance(nodes, Unknown) else gpus
    if isinstance(nodes, int) and isinstance(gpus, int) and nodes:
        each = gpus // nodes if gpus % nodes == 0 else Unknown("it is not a whole number")
    yield "gpus_per_node", each, given.place("--num-processes")


def _by_environment(started: Started, absent: Number) -> Iterator[Found]:
    """A program that starts torchrun with NNODES and NPROC_PER_NODE of its environment."""
    found: dict[str, Number] = {}
    for name, variable, other in (
        ("nodes", "NNODES", 1),
        ("gpus_per_node", "NPROC_PER_NODE", absent),
    ):
        value = started.launch.environment.get(variable)
        found[name] = other if value is None else _number(value)
        yield name, found[name], Word(value) if value else started.launch.words[0]
    yield "gpus", _product(found["nodes"], found["gpus_per_node"]), started.launch.words[0]


def _number(value: Text) -> Number:
    text = plain(value) if value else ""
    number = whole(text) if isinstance(text, str) else None
    if number is None:
        return text if isinstance(text, Unknown) else Unknown(f"`{text}` is not a whole number")
    return number


def _processes(started: Started) -> Iterator[Found]:
    """Without a launcher, one process for each task of srun or mpirun."""
    launch = started.launch
    programs = [program(wrapper[0]) for wrapper in launch.wrappers]
    if any(name.startswith(("mpi", "ort", "prun", "aprun")) for name in programs):
        yield from _mpi(started)
    elif launch.directives:
        yield from _tasks(started)
    else:
        yield from _alone(started)


def _tasks(started: Started) -> Iterator[Found]:
    given = started.launch.directives
    command = started.launch.words[0]
    unknown = Unknown("the job's header does not say it")
    nodes, each = sbatch_options.count(given, "nodes"), sbatch_options.count(
        given, "ntasks-per-node"
    )
    total = sbatch_options.tasks(given)
    gpus = sbatch_options.gpus_per_node(given)
    if total is None and each is None and isinstance(nodes, int) and gpus is None:
        total = None
    yield "nodes", unknown if nodes is None else nodes, _placed(given, command, "nodes")
    yield "gpus", unknown if total is None else total, _placed(
        given, command, "ntasks", "ntasks-per-node"
    )
    if gpus is not None:
        yield "gpus_per_node", gpus[0], _word(gpus[1])
    else:
        yield "gpus_per_node", unknown if each is None else each, _placed(
            given, command, "ntasks-per-node"
        )


def _placed(given: Sequence[BatchOption], command: Word, *names: str) -> Word:
    found = sbatch_options.last(given, *names)
    return command if found is None else _word(found)


def _word(directive: BatchOption) -> Word:
    return Word(directive.value) if directive.value else directive.word


_TOTAL = ("-np", "-n", "--np", "-c", "--ntasks")
_EACH = ("-ppn", "--ppn", "-npernode", "--npernode", "-N", "--ntasks-per-node", "-perhost")


def _mpi(started: Started) -> Iterator[Found]:
    wrapper = next(
        w for w in started.launch.wrappers if program(w[0])[:3] in ("mpi", "ort", "pru", "apr")
    )
    total, each = _behind(wrapper, _TOTAL), _behind(wrapper, _EACH)
    unknown = Unknown("mpirun does not set it")
    gpus = unknown if total is None else _number(total.pieces)
    per_node = unknown if each is None else _number(each.pieces)
    nodes: Number = unknown
    if isinstance(gpus, int) and isinstance(per_node, int) and per_node and gpus % per_node == 0:
        nodes = gpus // per_node
    yield "nodes", nodes, total or wrapper[0]
    yield "gpus_per_node", per_node, each or wrapper[0]
    yield "gpus", gpus, total or wrapper[0]


def _behind(words: Sequence[Word], names: Sequence[str]) -> Word | None:
    for index, item in enumerate(words[:-1]):
        name, sign, _ = item.lead.partition("=")
        if name in names:
            return item.cut(len(name) + 1) if sign else words[index + 1]
        if name == "--map-by" and words[index + 1].lead.startswith("ppr:") and names is _EACH:
            return word(words[index + 1].lead.split(":")[1], item.path, item.line, item.column)
    return None


def _alone(started: Started) -> Iterator[Found]:
    """One process, if WORLD_SIZE says so; otherwise something outside may start more."""
    variable = started.launch.variables.get("WORLD_SIZE")
    value = variable.value if variable is not None else None
    command = started.launch.words[0]
    gpus: Number = Unknown("nothing here starts the processes, and WORLD_SIZE is not set")
    if value is not None:
        gpus = _number(value)
    one = gpus == 1
    yield "gpus", gpus, Word(value) if value else command
    reason = Unknown("nothing here starts the processes")
    yield "nodes", 1 if one else reason, command
    yield "gpus_per_node", 1 if one else reason, command


SHAPES: dict[str, Callable[[Started], Iterator[Found]]] = {
    "torchrun": _torchrun,
    "deepspeed": _deepspeed,
    "accelerate": _accelerate,
    # Without the variable ms-swift starts one process, and LLaMA-Factory (launcher.py) one on each GPU.
    "swift": partial(_by_environment, absent=1),
    "llamafactory": partial(
        _by_environment,
        absent=Unknown("llamafactory-cli starts a process on each GPU that it finds"),
    ),
    "none": _processes,
}
