"""What a repository may bring to where parc writes, made by combining names, kinds of files and targets."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

SECRET, COMMON = "TOP-SECRET-KEY\n", "a text that anybody has\n"
#: Git's own folder, as some file system knows it.
GITS = [
    ".git", ".GIT", ".Git", ".git ", ".git.", ".git . .", "git~1", "GIT~1", ".g\u200cit", "\ufeff.git",
    ".gi\u202et", ".git::$INDEX_ALLOCATION", ".git:x",
]  # fmt: skip
#: Kinds of what is no plain file; a device needs rights that not everybody has.
KINDS = ("pipe", "socket", "device", "folder")


@dataclass(frozen=True)
class Planted:
    """A name for the test, the output folder as it is typed in the repository, and what plants it there."""

    name: str
    output: str
    plant: Callable[[Path], None]


def put(place: Path, kind: str, target: str = "") -> None:
    """A file of a kind: links and second names (hard links) lead to a target, plain files hold it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    match kind:
        case "link":
            place.symlink_to(target)
        case "second name":
            os.link(place.parent / target, place)
        case "pipe":
            os.mkfifo(place)
        case "socket":
            # Paths of sockets are short, so they are bound from their folder.
            with contextlib.chdir(place.parent), socket.socket(socket.AF_UNIX) as made:
                made.bind(place.name)
        case "device":
            with suppress(PermissionError):
                os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        case "folder":
            place.mkdir()
        case _:
            place.write_text(target)


def at(place: str, kind: str, target: str = "") -> Callable[[Path], None]:
    return lambda repo: put(repo / place, kind, target)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def journals() -> list[Planted]:
    """Folders as earlier releases left them when they were killed, with what they wanted to do."""
    names = (".parc-abcdefgh", ".parc-0123456789abcdef-0123456789abcdef", ".parc-x-" + "0" * 16)
    paths = (
        "x/hooks/new",
        "x/../../.git/hooks/new",
        "../home/new",
        "y/z/hooks/new",
        "gone/../../home/LICENSE",
    )
    found = [
        Planted(f"{name[:8]} {file} {path}", "out", _journal(name, file, path, "out"))
        for name, file, path in product(names, ("commit", "undo"), paths)
    ]
    found += [
        Planted(f"{file} {git!r}", ".", _journal(names[0], file, f"{git}/hooks/new", "."))
        for file, git in product(("commit", "undo"), GITS)
    ]
    for place, kind in product(
        ("out/.parc-x/commit", "out/.parc-x", ".parc-x", "out/.parc-x.tmp"), KINDS
    ):
        found.append(Planted(f"{place} {kind}", "out", at(place, kind)))
    for place, target in product(
        ("out/.parc-x", ".parc-x", ".parc-x.tmp"), ("../home", "../../home", "/dev/zero")
    ):
        found.append(Planted(f"{place} to {target}", "out", at(place, "link", target)))
    return found


def _journal(name: str, file: str, path: str, output: str) -> Callable[[Path], None]:
    side = "new" if file == "commit" else "old"
    gone = (
        {"old": sha256(COMMON), "new": None}
        if side == "new"
        else {"old": None, "new": sha256(COMMON)}
    )
    written = {"old": None, "new": None, side: sha256(COMMON)}
    removed = ("../home/LICENSE", "x/config", "y/z/HEAD", "x/HEAD")

    def plant(repo: Path) -> None:
        out = repo / output
        put(out / "x", "link", "../.git" if output == "out" else ".git")
        put(out / "y/z", "link", "../../.git" if output == "out" else "../.git")
        put(out / name / "new/empty", "folder")
        put(out / name / "old/empty", "folder")
        put(out / name / side / path, "file", COMMON)
        (out / name / side / path).chmod(0o755)
        put(out / name / file, "file", json.dumps({path: written} | dict.fromkeys(removed, gone)))

    return plant


def manifests() -> list[Planted]:
    """`plan.json` that lists what lies behind links, outside, in Git's folder, and what is no plain file."""
    names = [
        "x/.ssh/id", "x/LICENSE", "y/z/LICENSE", "deepspeed/linked", "../home/LICENSE",
        "a/../../home/LICENSE", "./x/LICENSE", "x//LICENSE", "deepspeed/../../home/LICENSE",
        "/HOME/LICENSE", "", ".", "..", "deepspeed",
        "deepspeed/\0", "deepspeed/\ud800", f"deepspeed/{'n' * 300}", f"{'d/' * 900}x", "deepspeed/second",
        *(f"deepspeed/{kind}" for kind in KINDS), *(f"deepspeed\\..\\{git}\\config" for git in GITS[:3]),
    ]  # fmt: skip
    keys = ("files", "replaced")
    found = [
        Planted(f"{key} {name[:40]!r}", "out", _manifest(key, name, "out"))
        for key, name in product(keys, names)
    ]
    found += [
        Planted(f"{key} {git!r}", ".", _manifest(key, f"{git}/config", "."))
        for key, git in product(keys, GITS)
    ]
    texts = (
        "[]",
        "{",
        '{"files": []}',
        '{"files": 1}',
        '{"files": {"a": {}}}',
        "[" * 100_000,
        "1" * 9000,
    )
    found += [
        Planted(f"text {text[:20]}", "out", at("out/plan.json", "file", text)) for text in texts
    ]
    return found


def _manifest(key: str, name: str, output: str) -> Callable[[Path], None]:
    home = "../home" if output == "." else "../../home"

    def plant(repo: Path) -> None:
        out = repo / output
        put(out / "x", "link", home)
        put(out / "y/z", "link", f"../{home}")
        put(out / "deepspeed/linked", "link", f"../{home}/LICENSE")
        put(out / "deepspeed/second", "second name", f"../{home}/.ssh/id")
        for kind in KINDS:
            put(out / "deepspeed" / kind, kind)
        listed = name.replace("/HOME", str(repo.parent / "home"))
        known = {listed: sha256(COMMON), "x/.ssh/id": "00", "deepspeed/second": "00"}
        put(out / "plan.json", "file", json.dumps({"files": {}, key: known}))

    return plant


def ways() -> list[Planted]:
    """Something else in the place of a file that is written, of its folder, of the output folder or above."""
    found: list[Planted] = []
    for file in ("deepspeed/launch.sh", "plan.json", "REPORT.md"):
        up = "../" * (file.count("/") + 2)
        targets = ("home/.ssh/id", "home/missing", "home", "repo/.git/config", "home/LICENSE")
        found += [
            Planted(f"{file} to {to}", "out", at(f"out/{file}", "link", up + to)) for to in targets
        ]
        second = at(f"out/{file}", "second name", f"{up}home/.ssh/id")
        found.append(Planted(f"{file} second name", "out", second))
        found += [Planted(f"{file} {kind}", "out", at(f"out/{file}", kind)) for kind in KINDS]
    for to in ("../../home", "../../.git", "../.git", "../../home/missing", "/dev"):
        found.append(Planted(f"folder to {to}", "out", at("out/deepspeed", "link", to)))
    for kind in ("pipe", "socket", "device", "file"):
        found.append(Planted(f"folder {kind}", "out", at("out/deepspeed", kind)))
        found.append(Planted(f"output {kind}", "out", at("out", kind)))
        found.append(Planted(f"above {kind}", "up/out", at("up", kind)))
    for to, output in product(
        ("../home", ".git", ".git/hooks", "/dev/zero", "out", "hop"), ("out", "out/below/")
    ):
        found.append(Planted(f"output {output} to {to}", output, _hop("out", to)))
    found.append(Planted("output to what is missing", "out", at("out", "link", "../home/missing")))
    for to in ("../home", ".git", "hop", "/tmp"):
        found.append(Planted(f"above to {to}", "up/new/out", _hop("up", to)))
    return [*found, *(Planted(f"into {git!r}", f"{git}/out", lambda repo: None) for git in GITS)]


def _hop(place: str, target: str) -> Callable[[Path], None]:
    """A link, perhaps by way of another one."""

    def plant(repo: Path) -> None:
        put(repo / "hop", "link", "../home")
        put(repo / place, "link", target)

    return plant
