"""The pages of examples/: its indexes by question as they stand there, and every job."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "examples"


def pages(folder: str) -> dict[str, str]:
    """By path: examples/README.md as the index, a page for each job."""
    made = {f"{folder}/index.md": (_FOLDER / "README.md").read_text()}
    for job in sorted(_FOLDER.rglob("*.par")):
        place = job.relative_to(_FOLDER).with_suffix(".md").as_posix()
        command = f"`parc plan examples/{job.relative_to(_FOLDER).as_posix()}`"
        made[f"{folder}/{place}"] = f"# {job.stem}\n\n{command}\n\n```par\n{job.read_text()}```\n"
    return made
