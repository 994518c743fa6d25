"""What the toy's checkpoints survive: everything but another tp."""

from parc.backends.resume import CHANGES, Cure, Resume, Row

ROWS = (
    Row(
        ("tp",),
        "toy/checkpoint.py:1",
        stops="tp is not what it was",
        cures=(Cure("setting", "goal { require tp == <as before> }", "the same parts"),),
    ),
    Row(CHANGES, "toy/checkpoint.py:2", note="whole weights"),
)
RESUME = Resume(ROWS, lambda config, release: {})
