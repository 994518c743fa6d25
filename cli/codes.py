"""The codes of complaints about commands and their output: PAR061, PAR080 to PAR099, PAR158, PAR159,
PAR168 to PAR189, PAR191 to PAR193, and PAR710. A code is never reused."""

from parc.dsl.codes import NO_FILES as NO_FILES

NO_EXTRA = "PAR061"
UNWRITABLE = "PAR090"
FOREIGN = "PAR091"
NO_TARGET = "PAR092"
SAME_NAME = "PAR093"
NO_STD_ENTRY = "PAR094"
NO_FRAMEWORK = "PAR087"
NO_SMOKE = "PAR088"
FOLDER_IN_USE = "PAR089"
EDITED = "PAR084"
OUTPUT_IN_USE = "PAR085"
FAULT = "PAR086"
NO_RULE = "PAR096"
LOST = "PAR080"
NO_PORT = "PAR081"
NO_DATA, NO_WEIGHTS = "PAR192", "PAR193"
NO_LINK = "PAR082"
NOT_SERVED = "PAR191"
OWN_FILES = "PAR098"
USAGE = "PAR099"
GPUS = "PAR168"
NOT_DETECTED = "PAR169"
AGAINST_TARGET = "PAR170"
AGAINST_LAYOUT = "PAR174"
LAUNCH_MODEL = "PAR171"
LAUNCH_BATCH = "PAR172"
LAUNCH_UNSAID = "PAR173"
NO_PLAN = "PAR180"
NO_TWO = "PAR181"
BAD_AXIS = "PAR175"
OTHER_SWEEP = "PAR176"
NO_RAY = "PAR177"
POINT_KILLED = "PAR178"
NO_PRICE = "PAR179"
NO_STAGE = "PAR186"
TRACE_LONG = "PAR189"
LEFT_OVER = "PAR083"
SLOW_TARGET = "PAR710"
NOT_RESUMED = "PAR158"
NO_RUN = "PAR159"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    NO_EXTRA: ("no-extra", "a package that an optional part of parc needs is not installed"),
    UNWRITABLE: ("output-unwritable", "the output folder cannot be written"),
    FOREIGN: (
        "output-foreign",
        "a file that parc did not write is in the way of one that it writes",
    ),
    NO_TARGET: ("no-target", "the job has no target of this name"),
    NO_STAGE: ("no-stage", "the job has no stage of this name"),
    SAME_NAME: ("same-name", "several jobs of one name would share an output folder"),
    NO_DATA: ("no-training-data", "a path holds no data that a target reads"),
    NO_WEIGHTS: ("no-checkpoint", "a fine-tuning is asked for of a model without a checkpoint"),
    NO_STD_ENTRY: ("no-std-entry", "the standard library has no entry of this name"),
    NO_FRAMEWORK: (
        "smoke-framework",
        "no Python on this machine has the packages that a target needs",
    ),
    NO_SMOKE: ("smoke-layout", "no part of the layout fits the processes of a smoke run"),
    FOLDER_IN_USE: ("smoke-folder", "the folder that is to keep a smoke run's files holds others"),
    EDITED: ("output-edited", "a file that parc wrote has been edited since"),
    OUTPUT_IN_USE: ("output-in-use", "another process is writing to the output folder"),
    FAULT: ("fault", "a fault of parc itself: exit code 3"),
    NO_FILES: ("no-launch-files", "no launch file is named, or none is found"),
    LOST: ("import-lost", "a job cannot say what launch files say"),
    NO_PORT: ("serve-port", "the page cannot be served at this address"),
    NO_LINK: ("serve-link", "a link that is to be opened carries no job"),
    NOT_SERVED: ("not-served", "a call of a tool of `parc mcp` was not answered"),
    OWN_FILES: ("own-files", "what `extra` or parc itself puts into files is refused by lint"),
    AGAINST_TARGET: (
        "against-target",
        "launch files are of a framework that the job does not have",
    ),
    AGAINST_LAYOUT: ("against-layout", "a layout to explain a plan against cannot be read"),
    LAUNCH_MODEL: (
        "launched-model",
        "launch files that are to be priced on a job train another model",
    ),
    LAUNCH_BATCH: (
        "launched-batch",
        "launch files that are priced on a job train on another batch",
    ),
    LAUNCH_UNSAID: (
        "launched-unsaid",
        "launch files do not set the whole layout that is to be priced",
    ),
    NO_PLAN: ("no-plan", "a file or folder that is to be compared holds no plan of parc"),
    NO_TWO: ("nothing-to-compare", "fewer than two things are to be compared"),
    USAGE: ("usage", "a command that does not exist, or options that do not go together"),
    GPUS: ("unknown-gpus", "GPUs that the standard library lacks, or not a multiple of a node's"),
    NOT_DETECTED: ("nothing-detected", "no tool on this machine names its GPUs"),
    BAD_AXIS: ("sweep-values", "`parc sweep --over` does not give a grid of settings"),
    OTHER_SWEEP: ("sweep-other", "a folder keeps the points of another sweep"),
    NO_RAY: ("sweep-ray", "a Ray cluster cannot be reached, or cannot run parc"),
    POINT_KILLED: (
        "sweep-killed",
        "the process that solves a point of a sweep was killed repeatedly",
    ),
    NO_PRICE: ("sweep-price", "cost is a criterion of a sweep, but the cluster has no price"),
    LEFT_OVER: ("left-over", "a file that a killed run left, or one with such a name"),
    TRACE_LONG: ("trace-long", "a trace would have more events than viewers show well"),
    NOT_RESUMED: ("not-resumed", "a new layout does not resume the checkpoints of the one before"),
    NO_RUN: ("no-run", "files or a folder are of no run whose checkpoints parc knows"),
    NO_RULE: ("no-rule", "no rule has this code or name"),
    SLOW_TARGET: (
        "slow-target",
        "a target's plan is much slower than another's, or computes little",
    ),
}
