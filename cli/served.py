"""Requests of the page of `parc serve` -> answers that the commands give: a function that processes run."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parc.dsl.diagnostics import JobError
from parc.dsl.syntax.sources import read, reading_only

if TYPE_CHECKING:
    from parc.dsl.job import Job

    from .api import Planned

JsonObject = Mapping[str, object]
#: What a page holds that was opened without a job: its name, and a text that every target compiles.
FIRST_NAME = "job.par"
FIRST_JOB = """# A first job: Llama 3 8B on one DGX H100. Change a number, and the report follows.

model llama3_8b from std.llama3_8b {}

cluster node from std.dgx_h100 { nodes = 1 }

train {
  seq_len      = 8192
  global_batch = 128
  tokens       = 100G
}

goal {
  maximize mfu
  require memory <= 92% : "leave room for fragmentation"
}

target megatron   { data = "/data/c4_text_document"; tokenizer = "meta-llama/Meta-Llama-3-8B" }
target torchtitan { data = "c4" }

launch slurm { time = 48 h }
"""
#: What the processes load once for all of them.
PRELOADED = (
    "parc.served",
    "parc.api",
    "parc.checking",
    "parc.serve.editing",
    "parc.serve.sliders",
    "ortools.sat.python.cp_model",
)
#: Zip archives have no times before this one; no other is written, so that they never vary.
EPOCH = (1980, 1, 1, 0, 0, 0)
JSON, ZIP = "application/json", "application/zip"


@dataclass(frozen=True)
class Opened:
    """A name of the job, every file that may be read, and the text where it is no file."""

    name: str
    files: tuple[str, ...]
    text: str | None


def opened_json(opened: Opened) -> JsonObject:
    """The job that the page begins with. Raises `JobError` for a job or a file that cannot be read."""
    from parc.serve.language import language

    texts = [read(path, path)[0].text for path in opened.files]
    text = texts[0] if opened.text is None else opened.text
    return {
        "name": os.path.basename(opened.name),
        "text": text.replace("\r\n", "\n"),
        "language": language(),
    }


def answer(opened: Opened, request: dict[str, object]) -> tuple[str, bytes]:
    """The media type of an answer, and the answer. A job cannot be read, or a fault of parc: complaints.

    Raises `MemoryError` where the process may take no more of it.
    """
    with reading_only(opened.files):
        try:
            found = ANSWERS[str(request["kind"])](opened.name, request)
        except JobError as error:
            found = _complaints(opened.name, request, error)
        except MemoryError:
            raise
        except Exception as error:
            from .fault import told

            fault = JobError([told(error, ("serve", str(request["kind"])))])
            found = _complaints(opened.name, request, fault)
    return (ZIP, found) if isinstance(found, bytes) else (JSON, json.dumps(found).encode())


def _complaints(name: str, request: dict[str, object], error: JobError) -> JsonObject:
    from parc.lsp.document import Document
    from parc.serve.editing import complaints_json

    document = Document(name, str(request["text"]))
    return {"complaints": complaints_json(document, error.diagnostics)}


def _check(name: str, request: dict[str, object]) -> JsonObject:
    """The complaints of `parc check`, and the sliders."""
    from parc.lsp.document import Document
    from parc.serve.editing import complaints_json
    from parc.serve.sliders import sliders

    from .checking import checked

    document = Document(name, str(request["text"]))
    found = checked(name, text=document.text).diagnostics
    return {
        "complaints": complaints_json(document, found),
        "sliders": [each.to_json(document.text) for each in sliders(document)],
    }


def _complete(name: str, request: dict[str, object]) -> JsonObject:
    from parc.lsp.document import Document
    from parc.serve.editing import completions_json

    document = Document(name, str(request["text"]))
    return {"offers": completions_json(document, _place(request))}


def _hover(name: str, request: dict[str, object]) -> JsonObject:
    from parc.lsp.document import Document
    from parc.serve.editing import meaning_json

    return {"meaning": meaning_json(Document(name, str(request["text"])), _place(request))}


def _place(request: dict[str, object]) -> int:
    place = request["place"]
    assert isinstance(place, int)
    return place


def _format(name: str, request: dict[str, object]) -> JsonObject:
    """The form of `parc fmt`."""
    from parc.lsp.document import Document
    from parc.serve.editing import formatted_text

    return {"text": formatted_text(Document(name, str(request["text"])))}


def _plan(name: str, request: dict[str, object]) -> JsonObject:
    """The output of `parc plan`, and the report."""
    from parc.lsp.document import Document
    from parc.report.first_answers import answers, headline
    from parc.report.html import report_html
    from parc.serve.editing import complaints_json

    from .printing.plan_json import planned_json
    from .printing.plan_text import plans_text

    text = str(request["text"])
    planned = _planned(_job(name, text))
    complaints = complaints_json(Document(name, text), planned.diagnostics())
    if not planned.plans:
        return {"complaints": complaints}
    plans = planned_json(planned)["plans"]
    return {
        "complaints": complaints,
        "plans": plans,
        "text": plans_text(planned).plain,
        "headline": headline(planned.plans[0]),
        "answers": [
            {"question": each.question, "answer": each.answer} for each in answers(planned.plans[0])
        ],
        "report": report_html(planned),
    }


def _compare(name: str, request: dict[str, object]) -> JsonObject:
    """The output of `parc compare` of two texts. The name of the job is that of both: files bear it."""
    from .printing.comparison import comparison_json, comparison_text
    from .subjects import subject_of

    named = {"A": str(request["text"]), "B": str(request["other"])}
    found = [subject_of(_job(name, text), f"variant {each}") for each, text in named.items()]
    return {"text": comparison_text(found), "subjects": comparison_json(found)["subjects"]}


def _files(name: str, request: dict[str, object]) -> bytes:
    """The output folder of `parc compile --keep-going` as a zip. Raises `JobError` where none has a plan."""
    from .api import emit
    from .commands.compile import output_files

    planned, emitted = emit(_planned(_job(name, str(request["text"]))))
    if not planned.plans:
        raise JobError([complaint for _, complaint in planned.complaints])
    return _zipped(output_files(planned, emitted), emitted.scripts)


def _zipped(files: Mapping[str, str], scripts: frozenset[str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(files.items()):
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path in scripts else 0o100644) << 16
            archive.writestr(entry, text.encode())
    return packed.getvalue()


def _job(name: str, text: str) -> Job:
    from parc.backends import TARGETS
    from parc.dsl.check import loads

    return loads(
        text, name, (), {each: backend.target.options for each, backend in TARGETS.items()}
    )


def _planned(job: Job) -> Planned:
    from .api import plan_targets

    return plan_targets(job, fewer=True)


ANSWERS: Mapping[str, Callable[[str, dict[str, object]], JsonObject | bytes]] = {
    "check": _check,
    "complete": _complete,
    "hover": _hover,
    "format": _format,
    "plan": _plan,
    "compare": _compare,
    "files": _files,
}
