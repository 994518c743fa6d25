"""An option whose value is empty: its variable is set to nothing or below its use, or is an argument that the
script's caller, another script, leaves out: errors all. A variable that nothing sets is a warning for an
option of the layout, and a hint for any other, which a site may set from outside.

A number without a value stops the parser. A text, such as a path, may be left for the reader to fill in.

Why:
The next option is taken for the value, or the parser stops; the message names neither variable nor option.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size $TP_SIZE --bf16

Good:
TP_SIZE=8
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size $TP_SIZE --bf16
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import LAID_OUT
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, Unknown, Value, dashed
from ...facts.empty_value import Emptied, LeftOut, emptied, left_out, wanted
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR801"
TITLE = "an option whose value is a variable that nothing sets"
SEVERITY = "warning"
SOURCE = "seen in a published script"

#: What other batch systems set in a job: Grid Engine (qsub(1), ENVIRONMENTAL VARIABLES), PBS, LSF, Fujitsu's
#: PJM, Cobalt, Flux and the launchers of MPI.
BATCH_SYSTEMS = frozenset(["NHOSTS", "NSLOTS", "NQUEUES", "PE_HOSTFILE", "JOB_ID", "NCPUS"])
PREFIXES = ("PBS_", "LSB_", "SGE_", "PJM_", "COBALT_", "FLUX_", "OMPI_", "PMI_", "MV2_")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for setting in (*launch.all("launcher"), *launch.all("argument")):
        if (found := emptied(launch, setting)) is not None:
            yield from _of_nothing(launch, setting, found)
            continue
        if (absent := left_out(launch, setting)) is not None:
            yield from _of_caller(launch, setting, absent)
            continue
        if setting.scope == "launcher" or setting.values and not _empty(setting.values[0]):
            continue
        variable = _unset(setting)
        if variable is None or variable in BATCH_SYSTEMS or variable.startswith(PREFIXES):
            continue
        below = _set_below(launch, setting, variable)
        if below is not None:
            message = f"{setting.name} has no value: {variable} is set below, in line {below.line}"
            related = (Related("set here", below),)
            yield Complaint(
                message, setting, related, f"set {variable} first", "error", effect=Effect.STOPS
            )
        elif not _comes_from_outside(launch, variable):
            message = f"{setting.name} has no value: nothing sets {variable}"
            severity: Severity | None = None if dashed(setting.name) in LAID_OUT else "info"
            help_text = f"{variable}=..., or ${{{variable}:?}}"
            yield Complaint(message, setting, help=help_text, severity=severity)


def _of_nothing(launch: LaunchedJob, setting: Setting, found: Emptied) -> Iterator[Complaint]:
    """A text that stays a word of its own may be empty."""
    kind = wanted(launch, setting)
    if not kind or (kind == "text" and not found.alone):
        return
    stops = kind == "number" and not found.filled_in
    yield Complaint(
        f"{setting.name} has no value: {found.variable} is set to nothing",
        setting,
        (Related("set here", found.place),),
        f"{found.variable}=..., or leave {setting.name} out",
        "error" if stops else "warning",
        effect=Effect.STOPS,
    )


def _of_caller(launch: LaunchedJob, setting: Setting, absent: LeftOut) -> Iterator[Complaint]:
    kind = wanted(launch, setting)
    if kind:
        given = "1 argument is" if absent.given == 1 else f"{absent.given} arguments are"
        yield Complaint(
            f"{setting.name} has no value: {given} given, and ${absent.number} is read",
            setting,
            (Related("started here", absent.place),),
            f"{absent.number} arguments, or ${{{absent.number}:?}}",
            "error" if kind == "number" else "warning",
            effect=Effect.STOPS,
        )


def _set_below(launch: LaunchedJob, setting: Setting, variable: str) -> Place | None:
    """Where the script sets the variable after it was read, and not before."""
    places = [each.place for each in launch.config.assignments if each.name == variable]
    here = all(path == setting.path and line > setting.line for path, line, _ in places)
    return Place(*places[0], length=len(variable)) if places and here else None


def _empty(value: Value | Unknown) -> bool:
    return isinstance(value, Unknown) and bool(value.unset) or value == ""


def _unset(setting: Setting) -> str | None:
    for value in setting.values:
        # What the caller of a script leaves out is no slip of the script.
        if isinstance(value, Unknown) and value.unset and not value.unset.isdigit():
            return value.unset
    return None


def _comes_from_outside(launch: LaunchedJob, variable: str) -> bool:
    """Whether the script itself treats the variable as its caller's: another option reads one too, unset."""
    others = {
        value.unset
        for setting in launch.all("argument")
        for value in setting.values
        if isinstance(value, Unknown) and value.unset
    }
    return len(others) > 2
