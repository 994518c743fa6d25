"""Cases from a file -> one line of JSON each, every case in a process of its own.

Frameworks keep global state, so a case may not see what an earlier one left. The modules are imported once.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: A start that takes longer hangs. Most take a few; torch 2.13 orders the micro-batches of an interleaved
#: pipeline in a time that grows with their square, minutes for 8,192.
SECONDS = 1500
Answer = dict[str, Any]
Check = Callable[[dict[str, Any], Answer], None]


def main(check: Check) -> None:
    """`check(case, answer)` fills the answer; what it raises is the framework's refusal.

    Arguments: the cases, where the answers go, and the folder in which probes claim the cases they take.
    """
    cases_file, answers, claims = sys.argv[1:]
    with open(cases_file) as handle:
        cases = json.load(handle)
    with open(answers, "w") as out:
        for number, case in enumerate(cases):
            if _claimed(os.path.join(claims, str(number))):
                out.write(json.dumps(answered(case, check)) + "\n")
                out.flush()


def _claimed(path: str) -> bool:
    """By whoever makes the file."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    return False


def answered(case: dict[str, Any], check: Check) -> Answer:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(case, check, writing)
    os.close(writing)
    text = _read(reading, child)
    _, status = os.waitpid(child, 0)
    if text:
        return {"name": case["name"], **json.loads(text)}
    return {
        "name": case["name"],
        "error": f"the process ended with status {status}",
        "stage": "crash",
    }


def _read(reading: int, child: int) -> str:
    """What the child writes; one that says nothing for too long is ended."""
    with os.fdopen(reading) as pipe:
        if not select.select([pipe], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            return json.dumps({"stage": "hang", "error": f"no answer within {SECONDS} s"})
        return pipe.read()


def _answer(case: dict[str, Any], check: Check, writing: int) -> None:
    """In the child: what the framework prints goes to a file, whose end explains an exit."""
    answer: Answer = {"stage": "start"}
    with tempfile.TemporaryFile("w+") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            check(case, answer)
        except BaseException as error:  # argparse raises SystemExit
            answer |= {"error": _text(error, log), "at": _place(error)}
    with os.fdopen(writing, "w") as pipe:
        json.dump(answer, pipe)
    os._exit(0)


def _text(error: BaseException, log: Any) -> str:
    if isinstance(error, SystemExit):
        sys.stdout.flush()
        sys.stderr.flush()
        log.seek(0)
        said = [line for line in log.read().splitlines() if "error" in line.lower()]
        return said[-1] if said else f"exit {error.code}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__}: {error}"
        if str(error)
        else f"{type(error).__name__}: {frame.line}"
    )


def _place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno}"
