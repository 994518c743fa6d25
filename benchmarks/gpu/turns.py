"""Programs that take turns on one GPU: the next imports while one trains. The standard library alone.

A program is started as its entry script starts it. A `sitecustomize.py` on its path makes each rank import
what it will need, then wait for its turn; at its end it tells what PyTorch reserved.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GATE = '''
"""Of a rank: imports what it will need, waits for its turn, and tells at its end what PyTorch reserved."""
import atexit, json, os, threading, time

turn = os.environ.get("TURN")
if turn and "LOCAL_RANK" in os.environ:
    import torch

    for name in os.environ.get("TURN_IMPORTS", "").split():
        try:
            __import__(name)
        except ImportError:
            pass  # of another release

    def tell():
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            with open(turn + ".peak", "w") as file:
                json.dump({"reserved": torch.cuda.max_memory_reserved()}, file)

    def end_with(parent):
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    atexit.register(tell)
    threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
    open(turn + ".ready", "w").close()
    while not os.path.exists(turn):
        time.sleep(0.02)
'''
#: What takes seconds to import, by framework.
IMPORTS = {
    "torchtitan": "torch.distributed torch._dynamo torchtitan.distributed torchtitan.models",
    "deepspeed": "torch.distributed deepspeed transformers",
    "accelerate": "torch.distributed accelerate datasets transformers trl",
}


#: Seconds that a program may take until its ranks are ready.
STARTING = 300.0


@dataclass(frozen=True)
class Program:
    """An entry script, with further arguments, and what it adds to the environment."""

    name: str
    framework: str
    script: Path
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Ended:
    """The exit code, what was printed, and bytes: what PyTorch reserved, and the most in use on the GPU."""

    code: int
    text: str
    reserved: int | None = None
    device: int = 0
    seconds: float = 0.0


class Turn:
    """A program that has been started and waits."""

    def __init__(self, program: Program, folder: Path, port: int):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sitecustomize.py").write_text(GATE)
        self.flag, self.log = folder / "turn", folder / "run.log"
        for old in (self.flag, *(self.flag.with_suffix(each) for each in (".ready", ".peak"))):
            old.unlink(missing_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["bash", str(program.script), *program.arguments],
                cwd=folder,
                env=_environment(program, folder, self.flag, port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def ready(self) -> bool:
        return self.flag.with_suffix(".ready").exists()

    def take(self, limit: float, used_mib: Callable[[], int], wait: float = 0.5) -> Ended:
        """Lets it train to its end, or ends it `limit` seconds after it began, or where it has not after
        `STARTING`: exit code 124."""
        asked, begun, most = time.monotonic(), 0.0, 0
        self.flag.touch()
        try:
            while self.process.poll() is None:
                now = time.monotonic()
                begun = begun or (now if self.ready else 0.0)
                if now > (begun + limit if begun else asked + STARTING):
                    break
                most = max(most, used_mib())
                time.sleep(wait)
        finally:
            code = self.end()
        text = self.log.read_text(errors="replace")
        if code is None:
            code, text = 124, f"{text}\nno end after {time.monotonic() - asked:.0f} s"
        return Ended(code, text, self._reserved(), most * 2**20, time.monotonic() - asked)

    def end(self) -> int | None:
        """The exit code; None where it still ran, and is ended with all that it started."""
        if (code := self.process.poll()) is not None:
            return code
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return None

    def _reserved(self) -> int | None:
        try:
            return int(json.loads(self.flag.with_suffix(".peak").read_text())["reserved"]) or None
        except (OSError, ValueError, KeyError, TypeError):
            return None


def in_turn(
    programs: Sequence[Program],
    folder: Path,
    empty: Callable[[], bool],
    used_mib: Callable[[], int],
    limit: float,
    over: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Program, Ended]]:
    """Each program's end, one after another on a GPU that is `empty`; none begins once the time is `over`."""
    waiting: list[Turn] = []
    try:
        for number, program in enumerate(programs):
            following = programs[number : number + 2]
            for ahead in following[len(waiting) :]:
                place = number + following.index(ahead)
                waiting.append(Turn(ahead, folder / ahead.name, 29_511 + place))
            turn = waiting.pop(0)
            if over():
                turn.end()
                return
            if empty():
                yield program, turn.take(limit, used_mib)
            else:
                turn.end()
                yield program, Ended(1, "the GPU is in use")
    finally:
        _end_all(waiting)


def _end_all(turns: Iterable[Turn]) -> None:
    for turn in turns:
        turn.end()


def _environment(program: Program, folder: Path, flag: Path, port: int) -> Mapping[str, str]:
    path = os.environ.get("PYTHONPATH")
    tools = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    own = {
        "PATH": os.pathsep.join(tools),
        "PYTHONPATH": f"{folder}{os.pathsep}{path}" if path else str(folder),
        "TURN": str(flag),
        "TURN_IMPORTS": IMPORTS.get(program.framework, ""),
        "RUN_DIR": str(folder / "run"),
        "MASTER_PORT": str(port),
        # It would take memory and time of the GPU on which another program trains.
        "HEALTH_CHECK": "0",
        "ANY_RELEASE": "1",
        "ANY_RUN": "1",
    }
    return {**os.environ, **own, **dict(program.environment)}
