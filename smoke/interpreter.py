"""The path of a Python -> the frameworks that it has, their versions, and the GPUs that it sees."""

import json
import subprocess

from ..backends import BACKENDS
from ..backends.smoke_run import Interpreter

#: The result is the last line, since imports may print others.
PROBE = """
import importlib.metadata, json, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
found = {name: version(name) for name in sys.argv[2:]}
gpus = 0
if found.get("torch") and sys.argv[1] == "gpus":
    import torch
    gpus = torch.cuda.device_count()
print(json.dumps({"packages": {name: text for name, text in found.items() if text}, "gpus": gpus}))
"""
PATIENCE_SECONDS = 120


def look_into(path: str, gpus: bool = True) -> Interpreter | str:
    """The interpreter at a path, or why it does not answer; without `gpus` its GPUs are not counted."""
    packages = dict.fromkeys(name for each in BACKENDS.values() for name in each.smoke.packages)
    command = [path, "-c", PROBE, "gpus" if gpus else "cpu", *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        found = json.loads(done.stdout.strip().rpartition("\n")[2])
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except subprocess.TimeoutExpired:
        return f"it has not answered for {PATIENCE_SECONDS} seconds"
    except ValueError:
        return (done.stderr.strip().rpartition("\n")[2] or "it printed nothing").strip()
    return Interpreter(path, found["packages"], found["gpus"])
