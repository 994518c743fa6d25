"""Exit status (true, false or undecided), and the jumps `exit`, `return`, `break` and `continue`."""

Status = bool | None


class Exit(Exception):
    """The script ends."""


class Return(Exception):
    """The function, or the sourced file, ends."""


class Break(Exception):
    """The loop ends, or `again` goes on with the next round; `levels` loops are meant."""

    def __init__(self, levels: int, again: bool):
        self.levels, self.again = levels, again
