"""Versions -> one Python environment per framework, built once into a cache folder and reused.

`python tests/acceptance/support/environments.py [NAME...]` builds them, all without a name, and says where.
Every environment sees the packages of the one that holds PyTorch, so that it is installed once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
#: Preferred: pip may find a small CPU build of PyTorch for it. Later ones work too.
PYTHON = "3.11"
TORCH = "2.13.0"
MEGATRON = "0.19.2"
DEEPSPEED, OLDEST_DEEPSPEED = "0.19.8", "0.15.4"
OLDEST_TORCHTITAN = "0.2.0"
PSUTIL, EINOPS = "7.2.2", "0.8.2"
OLDER = ("PyYAML==6.0.3", "pydantic==2.14.3", "regex==2026.11.15", "six==1.17.0")
TRANSFORMERS, PEFT = "5.23.0", "0.21.2"
ACCELERATE, TRL = "1.15.0", "1.16.0"
#: What torchtitan 0.2 takes float8 from; later ones have other names for float8 experts.
TORCHAO = "0.16.0"
SKYPILOT, OPEN_MPI = "0.14.1", "5.0.11"
#: Changes when this file builds environments in another way.
RECIPE = 1


@dataclass(frozen=True)
class Recipe:
    """What pip installs on top of PyTorch, and wheels that it would refuse, which are unpacked."""

    packages: tuple[str, ...] = ()
    unpacked: tuple[str, ...] = ()
    #: Must be importable for the environment to count as built.
    imports: tuple[str, ...] = ()
    #: The environment whose packages this one sees, beside PyTorch's.
    on: str = ""


#: The variable that names a checkout of the oldest Megatron-LM that parc writes for, core_v0.14.0.
OLDEST_ROOT = "MEGATRON_OLDEST_ROOT"
BASE, RELEASED = "torch", "megatron-released"
TRAINING, CHECKOUT = "megatron-training", "megatron-checkout"
RECIPES = {
    BASE: Recipe((f"torch=={TORCH}", "numpy", "packaging"), (), ("torch",)),
    # Groups of context parallelism on two levels are made with einops.
    "megatron": Recipe((f"einops=={EINOPS}",), (f"megatron-core=={MEGATRON}",), ()),
    # What its checkpoints are written with, too.
    RELEASED: Recipe((f"psutil=={PSUTIL}",), (f"megatron-core=={MEGATRON}",)),
    # What pretrain_gpt.py imports beside PyTorch; the rest is in the checkout that MEGATRON_ROOT names.
    TRAINING: Recipe((f"psutil=={PSUTIL}", f"einops=={EINOPS}")),
    # What a checkout of an older release imports: no wheel before 0.17 has megatron/training.
    CHECKOUT: Recipe((f"psutil=={PSUTIL}", f"einops=={EINOPS}", *OLDER)),
    f"torchtitan-{OLDEST_TORCHTITAN}": Recipe(
        (f"torchtitan=={OLDEST_TORCHTITAN}", f"torchao=={TORCHAO}")
    ),
    "torchtitan-0.2.2": Recipe(("torchtitan==0.2.2", f"torchao=={TORCHAO}")),
    "torchtitan-0.3.0": Recipe(("torchtitan==0.3.0",)),
    "deepspeed": Recipe(
        (f"deepspeed=={DEEPSPEED}", f"transformers=={TRANSFORMERS}"), (), ("deepspeed",)
    ),
    # What trains adapters, and the 4-bit weights whose bytes are counted.
    "deepspeed-peft": Recipe(
        (f"peft=={PEFT}", "bitsandbytes==0.50.2"), (), ("deepspeed", "peft"), on="deepspeed"
    ),
    "accelerate": Recipe(
        (
            f"accelerate=={ACCELERATE}",
            f"transformers=={TRANSFORMERS}",
            f"trl=={TRL}",
            f"peft=={PEFT}",
            "bitsandbytes==0.50.2",
        ),
        (),
        ("accelerate", "trl", "peft"),
    ),
    f"deepspeed-{OLDEST_DEEPSPEED}": Recipe(
        (f"deepspeed=={OLDEST_DEEPSPEED}", f"transformers=={TRANSFORMERS}"), (), ("deepspeed",)
    ),
    "openmpi": Recipe((f"openmpi=={OPEN_MPI}",)),
    "skypilot": Recipe((f"skypilot=={SKYPILOT}",), (), ("sky",)),
}
#: Names of the environments that this process has asked for.
ASKED: set[str] = set()


@dataclass(frozen=True)
class Environment:
    name: str
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python3.*/site-packages"))

    def variables(self, **more: str) -> dict[str, str]:
        """What a process of this environment is started with: its tools first, nothing of ours inherited."""
        dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        extensions = cache_folder() / "torch_extensions"
        return {
            **kept,
            "PATH": os.pathsep.join([str(self.folder / "bin"), kept.get("PATH", os.defpath)]),
            "TORCH_EXTENSIONS_DIR": str(extensions),
            "TORCHINDUCTOR_CACHE_DIR": str(cache_folder() / "inductor"),
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            **more,
        }


def cache_folder() -> Path:
    """$PARC_ACCEPTANCE_CACHE, else in the user's cache, else in the tree where there is no home."""
    if named := os.environ.get("PARC_ACCEPTANCE_CACHE"):
        return Path(named).expanduser().resolve()
    home = os.environ.get("HOME")
    caches = os.environ.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else None)
    if caches:
        folder = Path(caches) / "parc-acceptance"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            pass
    return TREE / ".acceptance"


def environment(name: str) -> Environment:
    """The environment of that name; built when it is not there or was built for other versions."""
    root = cache_folder()
    root.mkdir(parents=True, exist_ok=True)
    found = Environment(name, root / f"{name}-{_stamp(name)[:12]}")
    with _locked(root / f"{name}.lock"):
        if not (found.folder / "ready.json").exists():
            _build(found)
    ASKED.add(name)
    return found


def used() -> list[str]:
    """Recipes that a session needs: those that use a checkout of Megatron-LM only where there is one."""
    checkouts = {TRAINING: "MEGATRON_ROOT", CHECKOUT: OLDEST_ROOT}
    return [name for name in RECIPES if name not in checkouts or os.environ.get(checkouts[name])]


def versions(name: str) -> dict[str, str]:
    """Distributions that the environment's recipe names, as they were installed."""
    stated: dict[str, str] = json.loads((environment(name).folder / "ready.json").read_text())
    return stated


def versions_of_all() -> list[str]:
    """Distributions of every environment that this process has asked for, with their versions."""
    pairs = {pair for name in sorted(ASKED) for pair in versions(name).items()}
    return [f"{name} {version}" for name, version in sorted(pairs)]


def _stamp(name: str) -> str:
    below = RECIPES[name].on or BASE
    recipe = RECIPES[name] if name == BASE else (RECIPES[name], RECIPES[below])
    return hashlib.sha256(repr((RECIPE, PYTHON, recipe)).encode()).hexdigest()


def _build(made: Environment) -> None:
    recipe = RECIPES[made.name]
    shutil.rmtree(made.folder, ignore_errors=True)
    print(f"acceptance: building {made.folder}", file=sys.stderr, flush=True)
    bare = () if made.name == BASE else ("--without-pip",)
    subprocess.run([interpreter(), "-m", "venv", *bare, str(made.folder)], check=True)
    if made.name != BASE:
        below = [environment(recipe.on)] if recipe.on else []
        seen = "".join(f"{each.packages}\n" for each in (*below, environment(BASE)))
        (made.packages / "torch_of_base.pth").write_text(seen)
        _write_launcher(made)
    if recipe.packages:
        # Python compiles what is imported; all of transformers takes longer than its installation.
        _pip(made, "install", "-qq", "--no-compile", *recipe.packages)
    for wheel in recipe.unpacked:
        _unpack(made, wheel)
    if recipe.imports:
        command = [str(made.python), "-c", f"import {', '.join(recipe.imports)}"]
        subprocess.run(command, check=True, env=made.variables(), stdout=subprocess.DEVNULL)
    (made.folder / "ready.json").write_text(json.dumps(_installed(made), indent=2) + "\n")


def interpreter() -> str:
    """The preferred Python, or the one that runs this; a shim with no version behind it does not count."""
    probe = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    for candidate in (f"python{PYTHON}", sys.executable):
        path = shutil.which(candidate)
        if path and subprocess.run([path, "-c", probe], capture_output=True).returncode == 0:
            return path
    raise RuntimeError(f"acceptance needs Python {PYTHON} with venv and ensurepip, and found none")


def _pip(made: Environment, *arguments: str) -> None:
    """pip of the environment that holds PyTorch, for all of them."""
    variables = {**made.variables(), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "DS_BUILD_OPS": "0"}
    pip = made.python if made.name == BASE else environment(BASE).python
    command = [str(pip), "-m", "pip", "--python", str(made.python), *arguments]
    subprocess.run(command, check=True, env=variables, stdout=sys.stderr)


def _unpack(made: Environment, wheel: str) -> None:
    """A wheel that asks for a later Python than it needs: its files, without pip's check."""
    folder = made.folder / "wheels"
    later = ("--no-deps", "--python-version", "3.12", "--only-binary=:all:")
    _pip(made, "download", "-qq", *later, "--dest", str(folder), wheel)
    for path in folder.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(made.packages)


def _write_launcher(made: Environment) -> None:
    """torchrun of this environment: PyTorch's own belongs to the one it was installed into."""
    script = made.folder / "bin" / "torchrun"
    script.write_text(
        f"#!{made.python}\nimport sys\nfrom torch.distributed.run import main\n\nsys.exit(main())\n"
    )
    script.chmod(0o755)


def _installed(made: Environment) -> dict[str, str]:
    names = [
        each.partition("==")[0]
        for each in (*RECIPES[made.name].packages, *RECIPES[made.name].unpacked)
    ]
    names = [name.partition("<")[0] for name in names]
    program = (
        "import importlib.metadata as m, json, sys\n"
        "print(json.dumps({name: m.version(name) for name in sys.argv[1:]}))"
    )
    done = subprocess.run(
        [str(made.python), "-c", program, *names], check=True, text=True, stdout=subprocess.PIPE
    )
    stated: dict[str, str] = json.loads(done.stdout)
    return stated


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def main(names: list[str]) -> None:
    for name in names or used():
        found = environment(name)
        stated = ", ".join(f"{key} {value}" for key, value in versions(name).items())
        print(f"{name}: {stated} in {found.folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
