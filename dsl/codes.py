"""The codes of complaints about the language, the job and files: PAR0xx and PAR195, none ever reused."""

SYNTAX = "PAR001"
UNREADABLE = "PAR002"
NOT_UTF8 = "PAR003"
TOO_LARGE = "PAR004"
#: Listed with the codes of commands.
NO_FILES = "PAR095"
EMPTY = "PAR005"
IMPORT_CYCLE = "PAR006"
UNKNOWN_BLOCK = "PAR010"
UNKNOWN_NAME = "PAR011"
UNKNOWN_UNIT = "PAR012"
WRONG_DIMENSION = "PAR013"
WRONG_KIND = "PAR014"
DUPLICATE = "PAR015"
MISSING_BLOCK = "PAR016"
MISSING_SETTING = "PAR017"
OUT_OF_BOUNDS = "PAR018"
RECURSION = "PAR019"
ARITHMETIC = "PAR020"
BAD_RANGE = "PAR021"
UNKNOWN_WORD = "PAR022"
BAD_OVERRIDE = "PAR023"
MISPLACED = "PAR024"
NOT_A_CONDITION = "PAR025"
RESERVED = "PAR026"
AMBIGUOUS = "PAR027"
HEADS = "PAR030"
KV_HEADS = "PAR031"
EXPERTS = "PAR032"
DENSE_LAYERS = "PAR033"
LATENT_ATTENTION = "PAR034"
ROTARY_SIZE = "PAR035"
LENGTH = "PAR036"
BATCH_TOKENS = "PAR037"
PRECISION = "PAR038"
POSITIONS = "PAR039"
LEARNING_RATE = "PAR040"
DOMAIN = "PAR041"
FAILURES = "PAR045"
CARRY = "PAR047"
ROPE_SCALING = "PAR050"
ROUTER = "PAR051"
WINDOWS = "PAR052"
GATE = "PAR053"
BATCH_RAMP = "PAR054"
ADAPTERS = "PAR055"
POWER_LIMIT = "PAR056"
TUNING = "PAR072"
UNSUPPORTED = "PAR195"
UNWRITABLE_TEXT = "PAR058"
UNWRITABLE_NAME = "PAR059"
OPEN_SETTINGS = "PAR071"
UNFORMATTED = "PAR060"
FORMATTING_CHANGES = "PAR062"

#: Code -> (short name, title), for `parc rules` and docs/language.md.
CODES: dict[str, tuple[str, str]] = {
    SYNTAX: ("syntax", "the text does not follow the grammar"),
    UNREADABLE: ("unreadable", "a file is missing or cannot be read"),
    NOT_UTF8: ("not-utf8", "a file is not UTF-8 text"),
    TOO_LARGE: (
        "too-large",
        "a file is too large, an expression nests too deeply, or a goal has too many conditions",
    ),
    EMPTY: ("empty", "a job file holds no blocks"),
    IMPORT_CYCLE: ("import-cycle", "files import each other in a circle"),
    UNKNOWN_BLOCK: ("unknown-block", "no block or clause has this name"),
    UNKNOWN_NAME: ("unknown-name", "nothing has this name"),
    UNKNOWN_UNIT: ("unknown-unit", "no unit has this name"),
    WRONG_DIMENSION: ("wrong-dimension", "a value measures something else than it should"),
    WRONG_KIND: ("wrong-kind", "a value is of another kind, such as text where a number belongs"),
    DUPLICATE: ("duplicate", "the same thing is given twice"),
    MISSING_BLOCK: ("missing-block", "a job lacks a block that it needs"),
    MISSING_SETTING: ("missing-setting", "a block lacks a setting that it needs"),
    OUT_OF_BOUNDS: ("out-of-bounds", "a value is outside its limits"),
    RECURSION: ("recursion", "a definition depends on itself"),
    ARITHMETIC: ("arithmetic", "a calculation has no finite result"),
    BAD_RANGE: ("bad-range", "a range or set is reversed, empty or too long"),
    UNKNOWN_WORD: ("unknown-word", "a setting does not know this word"),
    BAD_OVERRIDE: ("bad-override", "a --set cannot be understood"),
    MISPLACED: ("misplaced", "something stands where it does not belong"),
    NOT_A_CONDITION: ("not-a-condition", "a goal line is not a condition on the layout"),
    RESERVED: ("reserved-name", "a constant takes a name that means something else"),
    AMBIGUOUS: ("ambiguous", "several definitions fit and none is chosen"),
    HEADS: ("heads", "the head size does not follow from the width"),
    KV_HEADS: ("kv-heads", "the key/value heads do not divide the query heads"),
    EXPERTS: ("experts", "the settings of a mixture of experts disagree"),
    DENSE_LAYERS: ("dense-layers", "more dense layers than layers"),
    LATENT_ATTENTION: ("latent-attention", "the sizes of latent attention are incomplete"),
    ROTARY_SIZE: ("rotary-size", "rotary embedding needs an even size"),
    LENGTH: ("training-length", "the length of training is missing or given twice"),
    BATCH_TOKENS: ("batch-tokens", "a batch in tokens is not a multiple of the sequence length"),
    PRECISION: ("precision", "the GPU lacks the precision"),
    POSITIONS: ("positions", "learned positions end before the sequence"),
    LEARNING_RATE: ("learning-rate", "the learning-rate schedule is impossible"),
    UNSUPPORTED: ("unsupported", "something that parc does not support"),
    POWER_LIMIT: ("power-limit", "a power limit above what the GPU draws"),
    DOMAIN: ("domain", "the fast domain does not fit the nodes"),
    CARRY: ("carry", "a stage cannot go on at the step of the one before"),
    FAILURES: ("failures", "the settings of a cluster's failures are incomplete or disagree"),
    ROPE_SCALING: ("rope-scaling", "the settings of scaled rotary positions disagree"),
    ROUTER: ("router", "the groups of the router do not fit its experts"),
    WINDOWS: ("windows", "layers with full attention are set, but no layer has a window"),
    GATE: ("gate", "a setting of a gate that the feed-forward block lacks"),
    BATCH_RAMP: ("batch-ramp", "the growth of the batch is incomplete or uneven"),
    ADAPTERS: ("adapters", "adapters such as LoRA are asked for by a name that parc does not have"),
    TUNING: ("tuning", "the settings of fine-tuning are incomplete or disagree"),
    UNWRITABLE_TEXT: ("text-unwritable", "a text has a character that no emitted file can hold"),
    UNWRITABLE_NAME: ("name-unwritable", "the name of the job's file is not UTF-8 text"),
    OPEN_SETTINGS: (
        "open-settings",
        "a setting that the search does not decide, or too many of them, is left to it",
    ),
    UNFORMATTED: ("unformatted", "a job file is not in the form that `parc fmt` gives it"),
    FORMATTING_CHANGES: (
        "formatting-changes",
        "formatting would change what the file says: it is left as it is",
    ),
}
