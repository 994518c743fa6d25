"""The codes of complaints about commands and their output: PAR080 to PAR099, of extras PAR061, and of
`parc init` PAR168 and PAR169. A code is never reused."""

NO_EXTRA = "PAR061"
UNWRITABLE = "PAR090"
FOREIGN = "PAR091"
NO_TARGET = "PAR092"
SAME_NAME = "PAR093"
NO_STD_ENTRY = "PAR094"
NO_FRAMEWORK = "PAR087"
NO_SMOKE = "PAR088"
FOLDER_IN_USE = "PAR089"
NO_FILES = "PAR095"
EDITED = "PAR084"
OUTPUT_IN_USE = "PAR085"
FAULT = "PAR086"
NO_RULE = "PAR096"
LOST = "PAR080"
OWN_FILES = "PAR098"
USAGE = "PAR099"
GPUS = "PAR168"
NOT_DETECTED = "PAR169"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    NO_EXTRA: ("no-extra", "a package that an optional part of parc needs is not installed"),
    UNWRITABLE: ("output-unwritable", "the output folder cannot be written"),
    FOREIGN: (
        "output-foreign",
        "a file that parc did not write is in the way of one that it writes",
    ),
    NO_TARGET: ("no-target", "the job has no target of this name"),
    SAME_NAME: ("same-name", "several jobs of one name would share an output folder"),
    NO_STD_ENTRY: ("no-std-entry", "the standard library has no entry of this name"),
    NO_FRAMEWORK: ("smoke-framework", "no Python at hand has what a target needs to be trained"),
    NO_SMOKE: ("smoke-layout", "no part of the layout fits the processes of a smoke run"),
    FOLDER_IN_USE: ("smoke-folder", "the folder that is to keep a smoke run's files holds others"),
    EDITED: ("output-edited", "a file that parc wrote has been edited since"),
    OUTPUT_IN_USE: ("output-in-use", "another process is writing to the output folder"),
    FAULT: ("fault", "something that parc itself does wrong: exit code 3"),
    NO_FILES: ("no-launch-files", "no launch file is named, or none is found"),
    LOST: ("import-lost", "a job cannot say what launch files say"),
    OWN_FILES: ("own-files", "`extra` would make files that the framework refuses"),
    USAGE: ("measure-options", "options of `parc measure` that do not go together"),
    GPUS: ("unknown-gpus", "no cluster of the standard library has these GPUs in whole nodes"),
    NOT_DETECTED: ("nothing-detected", "no tool on this machine names its GPUs"),
    NO_RULE: ("no-rule", "no rule has this code or name"),
}
