"""`plan.json` -> the files that parc has written into a folder, each with its sha256.

It is what anybody may have put there: it says which files may be replaced or removed, in the folder alone, by
names that parc can write and only while their content is the one that it lists.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from parc.dsl.inputs.documents import json_value

from .folder import Folder
from .paths import Refused, is_writable_name

MANIFEST = "plan.json"
#: Of a run that is under way, or was killed: the sha256 of each file that it replaces or removes.
_REPLACED = "replaced"

#: What stands beside the folders of targets and launchers.
_BESIDE = {"report.html", "REPORT.md", "run.sh", "trials.json", "trials.sbatch"}

#: Whether a file of a name may be parc's own.
MayBe = Callable[[str], bool]
#: File -> the digests under which it is parc's own.
Owned = dict[str, frozenset[str]]


def manifest(files: Mapping[str, str]) -> dict[str, str]:
    """sha256 of each file, for `plan.json`."""
    return {path: str(digest(text.encode())) for path, text in sorted(files.items())}


def digest(content: bytes | None) -> str | None:
    """The sha256 that `plan.json` lists."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def is_launch_file(name: str) -> bool:
    """Whether `parc compile` or `parc trials` could have written a file of this name into its part of a
    folder: a target's or a launcher's, one beside them, or those of a trial."""
    from parc.backends import BACKENDS, LAUNCHERS

    *above, last = name.split("/")
    if above and re.fullmatch(r"trial-\d+", above[0]):
        above = above[1:]
    return last in _BESIDE if not above else above in [[each] for each in (*BACKENDS, *LAUNCHERS)]


def owned(folder: Folder, part: str = "", may_be: MayBe = is_writable_name) -> Owned:
    """Files that an earlier run wrote into a part of the folder, such as "job/", and the manifest itself,
    without a digest; empty where there is none."""
    name = f"{part}{MANIFEST}"
    try:
        content = folder.read(name)
        value = json_value(content.decode()) if content is not None else {}
        listed = [value["files"], value.get(_REPLACED, {})]
        pairs = [(each, str(known)) for table in listed for each, known in table.items()]
    except (Refused, ValueError, KeyError, TypeError, AttributeError):
        return {}
    found: dict[str, set[str]] = {name: set()}
    for each, known in pairs:
        if is_writable_name(each) and may_be(each):
            found.setdefault(f"{part}{each}", set()).add(known)
    return {each: frozenset(known) for each, known in found.items()}


def under_way(text: bytes, replaced: Mapping[str, str]) -> bytes:
    """A manifest while its files are being replaced one by one: after a kill, those of before are parc's own
    as well as those of after."""
    value: Any = json.loads(text)
    return json.dumps({**value, _REPLACED: replaced}, indent=2, ensure_ascii=False).encode()


def is_manifest(name: str) -> bool:
    return name.rpartition("/")[2] == MANIFEST


def known_names(folder: Folder, names: Iterable[str]) -> set[str]:
    """All that the manifests among these files list."""
    parts = [name.removesuffix(MANIFEST) for name in names if is_manifest(name)]
    return {each for part in parts for each in owned(folder, part)}
