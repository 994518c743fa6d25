"""Standard input and output -> a server of the Model Context Protocol, until the client ends it.

Specification: https://modelcontextprotocol.io/specification. Each call of a tool is a command that a process
of its own runs; a call that is cancelled, takes too long or takes too much memory ends with its process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean
from parc.serve.processes import Busy, Died, Pool, TookTooLong, TookTooMuch

from .. import codes
from ..printing.schemas import SCHEMAS, address, schema
from .answering import PRELOADED, answer, said_in_words
from .checking import checked
from .tools import TOOLS, Arguments, Tool

#: Calls at once, and those that wait for one to end; one more is refused.
AT_ONCE, WAITING = 2, 16
#: Characters of an answer at most: a larger one fills the context of whoever reads it.
LONGEST_ANSWER = 1024 * 1024

#: Media type of JSON schemas (draft-bhutton-json-schema-01, section 14).
SCHEMA = "application/schema+json"

INSTRUCTIONS = """parc finds the fastest parallel layout (tp, pp, cp, ep, ZeRO, recompute, micro-batch) of a
training job on GPUs, and checks launch files of Megatron-LM, DeepSpeed, torchtitan and others without running
them. Tools take a job as a text (`job`) or as the name of a file in the served folder (`file`). A job:

model llama3_8b from std.llama3_8b {}
cluster node from std.dgx_h100 { nodes = 1 }
train { seq_len = 8192; global_batch = 128; tokens = 100G }
goal { maximize mfu; require memory <= 92% }
target megatron { data = synthetic }

`import` makes a job from launch files; `check` lists the complaints about a job. Times are seconds, memory is
bytes, MFU is a fraction. Nothing is written or run, and no connection is opened."""


@dataclass(frozen=True)
class Service:
    """The service: the folder, and the most that an answer may take."""

    folder: str
    seconds: float
    most_bytes: int
    version: str

    def pool(self) -> Pool:
        """Processes that are not started yet."""
        answers = partial(answer, self.folder)
        return Pool(answers, AT_ONCE, WAITING, self.seconds, self.most_bytes)


def serve(service: Service) -> None:
    """Answers until standard input ends. A signal ends all processes at once."""
    asyncio.run(_serve(service))


async def _serve(service: Service) -> None:
    pool = service.pool()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, _end, pool, number)
    # Its processes begin within, where standard input and output are not those of the protocol.
    async with stdio_server() as (read, write):
        pool.start(PRELOADED)
        server = server_of(service, pool)
        try:
            await server.run(read, write, server.create_initialization_options())
        finally:
            pool.end()


def _end(pool: Pool, number: int) -> None:
    """Ends without waiting for standard input, which a thread reads."""
    pool.end()
    os._exit(128 + number)


def server_of(service: Service, pool: Pool) -> Server[Any]:
    """The server whose tools are answered by the processes of a pool."""

    async def listed(context: object, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*map(_described, TOOLS.values())])

    async def called(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in TOOLS:
            help = did_you_mean(params.name, TOOLS) or f"there are {', '.join(TOOLS)}"
            raise MCPError(types.INVALID_PARAMS, f"there is no tool `{params.name}`: {help}")
        tool = TOOLS[params.name]
        try:
            arguments = checked(tool, params.arguments or {}, service.folder)
            return _result(await _answered(pool, tool, arguments))
        except JobError as error:
            return _wrong(said_in_words(error))

    async def schemas(context: object, params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[*map(_listed_schema, SCHEMAS)])

    async def read(
        context: object, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return _read_schema(str(params.uri))

    return Server(
        "parc",
        version=service.version,
        title="parc",
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
        on_list_resources=schemas,
        on_read_resource=read,
    )


def _listed_schema(name: str) -> types.Resource:
    _, _, about = SCHEMAS[name]
    return types.Resource(
        name=name, uri=address(name), description=f"JSON schema of {about}", mime_type=SCHEMA
    )


def _read_schema(uri: str) -> types.ReadResourceResult:
    named = {address(name): name for name in SCHEMAS}
    if uri not in named:
        help = did_you_mean(uri, named) or f"there are {', '.join(named)}"
        raise MCPError(types.INVALID_PARAMS, f"there is no resource `{uri}`: {help}")
    text = json.dumps(schema(named[uri]), indent=2)
    content = types.TextResourceContents(uri=uri, mime_type=SCHEMA, text=text)
    return types.ReadResourceResult(contents=[content])


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.input_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


async def _answered(pool: Pool, tool: Tool, arguments: Arguments) -> Mapping[str, Any]:
    """The output of a tool's command. Raises `JobError` where it could not end."""
    words = tool.command(arguments)
    async with _own_folder(arguments.texts()) as folder:
        request: dict[str, object] = {
            "words": words,
            "folder": folder,
            "job": arguments.job_text(),
        }
        try:
            _, body = await pool.ask(request)
        except (Busy, TookTooLong, TookTooMuch, Died) as error:
            raise JobError([_not_answered(tool, pool, error)]) from None
    answered: Mapping[str, Any] = json.loads(body)
    return answered


@asynccontextmanager
async def _own_folder(texts: Mapping[str, str]) -> AsyncIterator[str | None]:
    """A folder that holds these texts for as long as one call; None where there are none."""
    if not texts:
        yield None
        return
    with TemporaryDirectory(prefix="parc-mcp-") as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", errors="replace", newline="")
            except OSError:
                message = f"no file can have the name `{name}` beside the others in `texts`"
                raise JobError([Diagnostic(codes.NOT_SERVED, message)]) from None
        yield folder


def _not_answered(tool: Tool, pool: Pool, error: Exception) -> Diagnostic:
    name = f"`{tool.name}`"
    match error:
        case Busy():
            message = f"{name} was not started: {AT_ONCE} calls run and {WAITING} wait"
            return Diagnostic(codes.NOT_SERVED, message, help="call it again when one has ended")
        case TookTooLong():
            message = f"{name} took longer than {pool.seconds:g} s and was stopped"
            help = "narrow the job (fewer targets, a fixed number of nodes), or start `parc mcp --seconds S`"
            return Diagnostic(codes.NOT_SERVED, message, help=help)
        case TookTooMuch():
            message = (
                f"{name} needed more than {pool.most_bytes >> 20:,} MiB of memory and was stopped"
            )
            help = "narrow the job or the files, or start `parc mcp --memory MIB`"
            return Diagnostic(codes.NOT_SERVED, message, help=help)
    message = f"the process of {name} was ended by the system"
    return Diagnostic(codes.NOT_SERVED, message, help="the machine may lack memory: call it again")


def _result(said: Mapping[str, Any]) -> types.CallToolResult:
    """The JSON that a command prints, as data and as text, with the complaints behind it; where there is
    none, the complaints as an error."""
    printed, complaints = said["printed"], said["complaints"].strip()
    if len(printed) > LONGEST_ANSWER:
        message = f"the answer has {len(printed):,} characters, at most {LONGEST_ANSWER:,} are sent"
        help = "name fewer files, or select rules"
        return _wrong(said_in_words(JobError([Diagnostic(codes.NOT_SERVED, message, help=help)])))
    try:
        value = json.loads(printed)
    except ValueError:
        return _wrong(complaints or printed.strip())
    data = value if isinstance(value, dict) else {"complaints": value}
    texts = [json.dumps(data, ensure_ascii=False), *([complaints] if complaints else [])]
    content = [types.TextContent(text=text) for text in texts]
    return types.CallToolResult(content=[*content], structured_content=data)


def _wrong(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
