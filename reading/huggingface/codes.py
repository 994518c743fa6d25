"""The codes of complaints about models of Hugging Face: PAR164 to PAR167. A code is never reused."""

NO_CONFIG = "PAR164"
NO_FAMILY = "PAR165"
BAD_VALUE = "PAR166"
OTHER_COUNT = "PAR167"

#: Code -> (short name, title), for `parc rules`.
CODES: dict[str, tuple[str, str]] = {
    NO_CONFIG: (
        "no-model-config",
        "no config.json of a Hugging Face model is named, or a file is none",
    ),
    NO_FAMILY: ("unknown-model-type", "parc does not know the blocks of this type of model"),
    BAD_VALUE: ("model-config-value", "a value of config.json is none that the key can have"),
    OTHER_COUNT: ("model-count", "the weights beside config.json are not as many as the model has"),
}
