"""Schedules of two chunks a rank whose stages lie on the ranks in the shape of a V: stage s on rank s for the
first chunks, on rank 2 * pp - 1 - s for the second ones, so that rank 0 has the model's both ends.

As torch 2.13's ScheduleZBVZeroBubble and ScheduleDualPipeV have them.
"""

from collections import deque

from .passes import BACKWARD, FORWARD, INPUT, WEIGHT, Pass


def zero_bubble_v(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
    """ZB-V of Qi et al. 2024 (arXiv 2401.10241, 6): no bubble where forward pass and both halves of the
    backward pass take equally long. Fewer micro-batches than 2 * pp - 1 leave their places empty.
    """
    count = max(2 * pp - 1, microbatches)
    row = _Row(microbatches)
    row.add("F0", times=2 * (pp - rank) - 1)
    row.add("F1 F0", times=rank)
    row.add("F1 I1 W1", times=pp - rank)
    entering = count - (2 * pp - 1 - rank)
    row.add("F0 I0 W0 F1 I1 W1", times=entering)
    row.add("I0 W0 F1 I1 W1", times=count - pp - entering)
    row.add("I0 I1", times=rank)
    row.add("I0 W0", times=pp - rank)
    row.add("W1", times=rank)
    row.add("W0", times=rank)
    return row.passes


def dual_pipe_v(pp: int, vpp: int, microbatches: int, rank: int) -> list[Pass]:
    """DualPipeV, DeepSeek's DualPipe cut in half (github.com/deepseek-ai/DualPipe): a forward pass of one
    chunk goes beside a backward pass of the other. They are given one after the other, as torch runs them
    unless told to overlap. Asks for at least 2 * pp micro-batches."""
    later, row = pp - rank - 1, _Row(microbatches)
    row.add("F0", times=2 * later)
    row.add("F0 F1", times=rank + 1)
    row.add("I1 W F1", times=later)
    row.add("F0 B1 F1 B0", times=microbatches - 2 * pp + rank + 1)
    row.add("B1 F1 B0", times=later)
    # The second half of what is left divides its backward passes, from the middle on.
    whole = rank + 1
    for turn in range(2 * (rank + 1)):
        row.add(f"{'B' if turn < whole else 'I'}{1 - turn % 2}")
    row.add("W I0", times=later)
    row.add("W", times=rank + 1)
    return row.passes


class _Row:
    """The passes of a rank, each the next micro-batch of its kind and chunk; `W` is the oldest pending weight
    gradient of any chunk. Passes of micro-batches that there are not are left out."""

    def __init__(self, microbatches: int):
        self.passes: list[Pass] = []
        self.microbatches = microbatches
        self.next = {(kind, chunk): 0 for kind in "FB" for chunk in (0, 1)}
        self.pending: deque[tuple[int, int]] = deque()

    def add(self, words: str, times: int = 1) -> None:
        for _ in range(times):
            for word in words.split():
                self._one(word)

    def _one(self, word: str) -> None:
        if word[0] == "W":
            self._weight(word[1:])
            return
        chunk, direction = int(word[1]), "F" if word[0] == "F" else "B"
        microbatch = self.next[direction, chunk]
        self.next[direction, chunk] += 1
        if word[0] == "I":
            self.pending.append((chunk, microbatch))
        self._append({"F": FORWARD, "B": BACKWARD, "I": INPUT}[word[0]], chunk, microbatch)

    def _weight(self, chunk: str) -> None:
        """The oldest pending weight gradient, of one chunk where it is named; nothing where there is none."""
        found = next((each for each in self.pending if chunk in ("", str(each[0]))), None)
        if found is not None:
            self.pending.remove(found)
            self._append(WEIGHT, *found)

    def _append(self, kind: int, chunk: int, microbatch: int) -> None:
        if microbatch < self.microbatches:
            self.passes.append(Pass(kind, chunk, microbatch))
