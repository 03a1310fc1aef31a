"""What a plugin of toolhost is made with: tools from functions, and the protocol that serves them.

A function with async runs in the event loop, where nothing may block; any other runs in a thread, which cannot be
interrupted. The file is yours: toolhost dev new writes it, and a newer one can replace it. It needs Python 3.11,
grpcio, protobuf, and plugin_pb2, which protoc makes of plugin.proto. docs/plugin-protocol.md says what it speaks."""
from __future__ import annotations
import asyncio, contextlib, dataclasses, functools, inspect, itertools, json, operator, os, pathlib, signal, socket
import struct, sys, threading, traceback, types, typing
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union
import grpc  # type: ignore[import]
import plugin_pb2 as pb  # type: ignore[import]
from plugin_pb2 import Content as Content, Needs as Needs, Result as Result, Text as Text  # see plugin.proto

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
CHUNK, FRAME, WINDOW, MESSAGE = 64 << 10, 128 << 10, 256 << 10, 64 << 20  # bytes, see Stream in the protocol
CALL, RESULT, PART, GRANT, PROGRESS, CANCEL, ASK, CHANGED, LOG, ANSWER, DELTA, MORE, ENDED = range(1, 14)  # its frames
_empty = inspect.Parameter.empty
SIMPLE: dict[Any, dict[str, Any]] = {
    Any: {}, object: {}, _empty: {}, **{hint: {"type": name} for hint, name in (
        (str, "string"), (bool, "boolean"), (int, "integer"), (float, "number"), (types.NoneType, "null"))}}
CANCELED = pb.ExecuteResponse(error=pb.Error(code="canceled", message="the call was cancelled")).SerializeToString()
_threads = ThreadPoolExecutor(256)
_signature = functools.cache(functools.partial(inspect.signature, eval_str=True))

class ToolError(Exception):
    """Fails a call: a code of docs/reference/errors.md, what happened, what to do next, and the seconds to wait."""
    def __init__(self, code: str, message: str, hint: str = "", retry_after: float = 0) -> None:
        super().__init__(message)
        self.code, self.hint, self.retry_after = code, hint, retry_after

class Call:
    """The call that a tool answers, for a parameter of this type. Threads may use it too, but for ask."""
    def __init__(self, request: pb.ExecuteRequest, stream: _Stream | None = None, number: int = 0) -> None:
        self.request = request  # with the session, the caller and the idempotency key, see plugin.proto
        self.over = False  # its caller does not wait any more; a coroutine gets asyncio.CancelledError
        self._stream, self._number = stream, number
        self._soon = asyncio.get_running_loop().call_soon_threadsafe
        self._text, self._unsent, self._window = bytearray(), bytearray(), CHUNK
        self._questions: dict[int, asyncio.Future[pb.Answer]] = {}

    def progress(self, done: float, total: float = 0, message: str = "") -> None:
        """Says how far the call has got. A total of 0 is not known."""
        if self.request.progress:
            self._soon(self._send, PROGRESS, pb.Progress(done=done, total=total, message=_clean(message)))

    def log(self, message: str, level: Literal["trace", "debug", "info", "warn", "error"] = "info") -> None:
        """Writes a line to the host's log, with the call. What is printed is there too, without it."""
        self._soon(self._send, LOG, pb.LogRecord(level=level, message=_clean(message)))

    def write(self, text: str) -> None:
        """Begins the result with a text, which callers may see as it comes. What the tool returns follows it."""
        self._soon(self._write, _clean(text).encode())

    async def ask(self, message: str, form: Any = None) -> tuple[str, dict[str, Any]]:
        """Asks whoever made the call: a yes or a no, or a form, which is a flat dataclass or a JSON Schema. The answer
        is accept, with what was filled in, or decline or cancel."""
        if not self._stream or not self.request.ask:
            raise ToolError("unsupported", "the caller of this call cannot answer questions")
        number, schema = len(self._questions), b"" if form is None else _json(schema_of(form))
        self._questions[number] = asyncio.get_running_loop().create_future()
        self._send(ASK, pb.Question(number=number, message=_clean(message), schema_json=schema))
        answer = await self._questions[number]
        if not answer.action:
            raise ToolError(answer.error.code, answer.error.message, answer.error.hint)
        return answer.action, json.loads(answer.content_json or b"{}")

    def _send(self, kind: int, message: Any) -> None:
        # A host that does not read gets no more reports, so that they do not fill the memory.
        if self._stream and not self.over and (kind in (ASK, DELTA) or len(self._stream.out) < WINDOW):
            self._stream.put(kind, self._number, message.SerializeToString())

    def _write(self, text: bytes, more: int = 0) -> None:
        self._text += text
        self._unsent += text if self.request.deltas and len(self._text) <= MESSAGE else b""
        self._window += more  # small pieces wait until the host has taken those before
        if self._unsent and (self._window >= CHUNK or self._window > 3 and len(self._unsent) >= 4096):
            piece = self._unsent[:self._window].decode(errors="ignore")  # no part of a character
            self._window -= len(piece.encode())
            del self._unsent[:len(piece.encode())]
            self._send(DELTA, pb.Delta(text=piece))

class Plugin:
    """A plugin: its name and version, what its process needs, and files that decide which tools it has."""
    def __init__(self, name: str, version: str, *, needs: pb.Needs | None = None, files: Iterable[str] = ()) -> None:
        self.root = os.getcwd()  # the workspace
        self.protected: list[str] = []  # what tools must not change in it, see check_write
        self.end: Callable[[], Any] | None = None  # runs after the last call, within 5 s, before the process ends
        self._about = pb.DescribeResponse(name=name, version=version, sdk="toolhost-python/0.1.0", needs=needs)
        self._about.files.extend(files)
        self._tools: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {}
        self._session_ended: list[Callable[[str], None]] = []
        self._configure: Callable[[Any], Any] = lambda value: None

    def tool(self, name: str = "", *, description: str = "", preview: Callable[..., Any] | None = None,
             input_schema: dict[str, Any] | None = None, output_schema: dict[str, Any] | None = None,
             safety: Literal["safe", "cautious", "dangerous"] = "dangerous", **more: Any) -> Callable[[F], F]:
        """Makes a function a tool. Its docstring is the description, and the types of its parameters and of its result
        are the schemas; Annotated adds a description and keywords of JSON Schema. With a schema of your own it may take
        **arguments. A preview takes the same, and says what would change. More are fields of ToolDefinition."""
        def add(function: F) -> F:
            takes, returns = input_schema or schema_of(function), _signature(function).return_annotation
            untyped = returns in (None, Any, str, Result, NoReturn, _empty)
            gives = output_schema or ({} if untyped else schema_of(returns))
            hidden = [name for name, schema in takes.get("properties", {}).items() if schema.get("writeOnly")]
            fields = {"name": name or function.__name__, "description": description or inspect.getdoc(function),
                      "input_schema_json": _json(takes), "output_schema_json": _json(gives) if gives else b"",
                      "safety": safety, "sensitive": hidden, **more}
            self._about.tools.append(pb.ToolDefinition(**fields))
            self._tools[name or function.__name__] = function, preview
            return function
        return add

    def configuration(self, settings: type[T]) -> Callable[[], T]:
        """Takes settings, a dataclass, and returns what has them in calls. An error of __post_init__ refuses them."""
        self._about.config_schema_json = _json(schema_of(settings))
        self._configure = functools.partial(_decode, settings)
        return lambda: typing.cast(T, self._settings)

    def sessions(self, new: Callable[[], T], drop: Callable[[T], Any] = lambda value: None) -> Callable[[Call], T]:
        """Returns what has a value for each session, until it ends or 1,024 others were used since: drop gets it."""
        values, lock = dict[str, T](), threading.RLock()  # what was used longest ago is first
        def ended(session: str) -> None:
            with lock:
                if session in values:
                    threading.Thread(target=drop, args=[values.pop(session)]).start()
        def get(call: Call) -> T:
            session = call.request.session
            if not session:
                return new()
            with lock:
                value = values[session] = values.pop(session) if session in values else new()
                ended(next(iter(values)) if len(values) > 1024 else "")
                return value
        self._session_ended.append(ended)
        return get

    def check_write(self, path: str) -> str:
        """The absolute path of one in the workspace, unless tools must not write, rename or remove what is there."""
        path = os.path.join(self.root, path)
        itself = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # it may be a link
        for place, protected in itertools.product((itself, os.path.realpath(path)), self.protected):
            at, no = place.lower() + "/", protected.lower()
            above = [p for p in (pathlib.Path(place), *pathlib.Path(place).parents) if p.exists()]
            named = at.startswith((no + "/", no + ".")) or (no + "/").startswith(at)
            if named or os.path.exists(protected) and any(p.samefile(protected) for p in above):
                raise ToolError("permission_denied", f"{path} is protected: it belongs to what rules the host")
        return path

    def main(self) -> None:
        """Serves the host that started this process, and ends the process."""
        if os.environ.get("TOOLHOST_PLUGIN") != "toolhost.plugin.v1":
            sys.exit(self._about.name + " is a plugin of toolhost, which starts it from a plugin directory")
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        signal.signal(signal.SIGINT, lambda *_: None)  # an interrupt at the terminal is for the host
        if fd := os.environ.pop("TOOLHOST_STREAM_FD", ""):
            os.set_inheritable(int(fd), False)
            reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=int(fd)))
            async def send(data: bytes) -> None:
                writer.write(data)
                await writer.drain()
            _Stream(self, reader, send)
        previews, sessions = any(preview for _, preview in self._tools.values()), bool(self._session_ended)
        self._about.features.extend(["stream", "ask", *["preview"] * previews, *["socket"] * bool(fd),
                                     *["sessions", "session_end"] * sessions, *["shutdown"] * bool(self.end)])
        encode, loop = operator.methodcaller("SerializeToString"), asyncio.get_running_loop()
        server = grpc.aio.server(options=[(f"grpc.max_{w}_message_length", MESSAGE) for w in ("receive", "send")])
        def unary(message: Any, answer: Callable[[Any, Any], Any]) -> Any:
            async def handle(request: Any, context: Any) -> Any:
                out = answer(request, context)
                return await out if inspect.isawaitable(out) else out
            return grpc.unary_unary_rpc_method_handler(handle, message.FromString, encode)
        for service, methods in {"toolhost.plugin.v1.ToolPlugin": {
                "Describe": unary(pb.DescribeRequest, lambda *_: self._about),
                "Configure": unary(pb.ConfigureRequest, self._on_configure),
                "Execute": unary(pb.ExecuteRequest, lambda request, _: self._answer(Call(request), 0)),
                "Preview": unary(pb.ExecuteRequest, lambda request, _: self._answer(Call(request), 1)),
                "Shutdown": unary(pb.ShutdownRequest, self._on_shutdown),
                "Stream": grpc.stream_stream_rpc_method_handler(self._on_stream, pb.Packet.FromString, encode),
        }, "plugin.GRPCController": {"Shutdown": unary(  # its messages are empty, as ConfigureResponse
                pb.ConfigureResponse, lambda *_: loop.call_soon(self._ended.set) and pb.ConfigureResponse()),
        }, "grpc.health.v1.Health": {"Check": unary(pb.ConfigureResponse, lambda *_: pb.Answer(number=1))},  # it serves
        }.items():
            server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, methods)])
        server.add_insecure_port("unix:" + (address := os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "plugin")))
        await server.start()
        print(f"1|1|unix|{address}|grpc", flush=True)
        os.dup2(2, 1)  # what is printed from here on is log
        sys.stdout = sys.stderr
        await self._ended.wait()
        await self._on_shutdown()
        await server.stop(0.1)
        os._exit(0)  # threads that still run are not waited for

    async def _on_configure(self, request: pb.ConfigureRequest, context: Any) -> pb.ConfigureResponse:
        self.root, self.protected = request.root, list(request.protected)
        try:
            self._settings = self._configure(json.loads(request.config_json or b"{}"))
        except Exception as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, _clean(str(error)))
        return pb.ConfigureResponse()

    async def _on_shutdown(self, request: Any = None, context: Any = None) -> pb.ShutdownResponse:
        end, self.end = self.end, None  # it runs once
        await _run(end or (lambda: None))
        return pb.ShutdownResponse()

    async def _on_stream(self, packets: AsyncIterator[pb.Packet], context: Any) -> None:
        reader = asyncio.StreamReader()
        _Stream(self, reader, lambda data: context.write(pb.Packet(data=data)))
        try:
            async for packet in packets:
                reader.feed_data(packet.data)
        finally:
            reader.feed_eof()

    async def _answer(self, call: Call, which: int) -> pb.ExecuteResponse:  # 0: of the tool; 1: of its preview
        name, before = call.request.tool, ""
        try:
            if (function := self._tools.get(name, (None, None))[which]) is None:
                raise ToolError("not_found", "there is no tool, or no preview of it: " + name)
            arguments = _bind(function, json.loads(call.request.arguments_json or b"{}"), call)
            before = f"tool {name} execution failed: "
            result = _result(await _run(function, **arguments), bytes(call._text))
            if result.ByteSize() > MESSAGE - 16:
                raise ToolError("resource_exhausted", "the result is larger than 64 MiB", "ask for less at once")
            return pb.ExecuteResponse(result=result)
        except (Exception, SystemExit) as error:
            if not isinstance(error, ToolError):
                traceback.print_exc(limit=None if before else 0)  # arguments that do not fit have no place
                error = ToolError("tool_failed" if before else "invalid_arguments", f"{type(error).__name__}: {error}")
            return pb.ExecuteResponse(error=pb.Error(code=error.code, message=_clean(f"{before}{error}"),
                                      hint=_clean(error.hint), retry_after_ms=round(error.retry_after * 1000)))
        finally:
            call.over = True

async def _run(function: Callable[..., Any], **arguments: Any) -> Any:
    try:
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        return await asyncio.get_running_loop().run_in_executor(_threads, lambda: function(**arguments))
    finally:
        await asyncio.sleep(0)  # what it has reported goes first

def _clean(text: str) -> str:
    return text.encode(errors="replace").decode()  # names of files may have what is not Unicode

def _json(value: Any) -> bytes:
    return _clean(json.dumps(value, default=dataclasses.asdict, separators=(",", ":"), ensure_ascii=False,
                             allow_nan=False)).encode()

def _result(value: Any, written: bytes) -> pb.Result:
    out: pb.Result = value if isinstance(value, pb.Result) else pb.Result()
    if isinstance(value, str) and (value or not written):
        out.content.add().text.text = _clean(value)
    elif value not in (None, "") and out is not value:
        out.structured_json = _json(value)
        out.content.add().text.text = out.structured_json.decode()
    if written:
        out.content.insert(0, Content(text=Text(text=written.decode())))
    return out

def _bind(of: Any, value: Any, call: Call | None = None) -> dict[str, Any]:
    """The members of a JSON object as what a function, or a dataclass, is called with."""
    hints = {name: p.annotation for name, p in _signature(of).parameters.items()}
    given = {name: _decode(hints.get(name, Any), member) for name, member in dict(value).items()}
    given.update({name: call for name, hint in hints.items() if hint is Call})
    _signature(of).bind(**given)
    return given

def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON Schema of a type: of JSON's own, Literal, Union, list, dict or a dataclass. A schema is its own."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, dict):
        return hint
    if origin is Annotated:
        notes = [{"description": note} if isinstance(note, str) else note for note in inner[1:]]
        return functools.reduce(dict.__or__, notes, schema_of(inner[0]))
    if origin is Literal:
        return {"enum": list(inner), **({"type": "string"} if all(isinstance(v, str) for v in inner) else {})}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(option) for option in inner]}
    if list in (hint, origin):
        return {"type": "array", "items": schema_of(inner[0]) if inner else {}}
    if dict in (hint, origin):
        return {"type": "object", "additionalProperties": schema_of(inner[1]) if inner else {}}
    if hint in SIMPLE or not dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return SIMPLE[hint]  # other classes have none
    members = {name: p for name, p in _signature(hint).parameters.items() if p.annotation is not Call}
    return {"type": "object", "additionalProperties": False,
            "required": [name for name, p in members.items() if p.default is _empty],
            "properties": {name: {**schema_of(p.annotation), **({"default": p.default} if isinstance(
                p.default, (str, int, float)) else {})} for name, p in members.items()}}

def _decode(hint: Any, value: Any) -> Any:
    """A value of JSON as one of a type. The host has checked its schema; this makes sure of the type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _decode(inner[0], value)
    if origin in (Union, types.UnionType):
        for option in inner:
            with contextlib.suppress(TypeError, ValueError):
                return _decode(option, value)
    elif list in (hint, origin) and isinstance(value, list):
        return [_decode(inner[0] if inner else Any, one) for one in value]
    elif dict in (hint, origin) and isinstance(value, dict):
        return {key: _decode(inner[1] if inner else Any, one) for key, one in value.items()}
    elif hint in (int, float) and type(value) in (int, float) and value == hint(value):
        return hint(value)  # in JSON, 1.0 is an integer
    elif hint in (Any, object, _empty) or origin is Literal and value in inner or type(value) is hint:
        return value
    elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint(**_bind(hint, value))
    raise TypeError(f"{type(value).__name__} is not {hint}")

class _Stream:
    """The stream of the host's calls, in frames, see Stream in the protocol."""
    def __init__(self, plugin: Plugin, reader: asyncio.StreamReader, send: Callable[[bytes], Any]) -> None:
        self.plugin, self.reader, self.send = plugin, reader, send
        self.out, self.changed = bytearray(), asyncio.Event()
        self.parts: dict[int, bytearray] = {}  # of requests that come in chunks
        self.windows: dict[int, int] = {}  # what the host accepts of results that go in chunks
        self.calls: dict[int, tuple[Call, asyncio.Task[None]]] = {}
        self.tasks = asyncio.create_task(self.read()), asyncio.create_task(self.write())

    async def read(self) -> None:
        try:
            while header := await self.reader.read(1):
                size, kind, first, _, number = struct.unpack("<IBBHI", header + await self.reader.readexactly(11))
                await self.reader.readexactly(8 * (first & 1))  # the length of the whole
                self.frame(kind, number, await self.reader.readexactly(size))
        finally:
            for _, task in self.calls.values():
                task.cancel()
            self.plugin._ended.set()  # a host opens no second stream

    def put(self, kind: int, number: int, payload: bytes, total: int = 0) -> None:
        whole = struct.pack("<Q", total) if total else b""
        self.out += struct.pack("<IBBHI", len(payload), kind, total > 0, 0, number) + whole + payload
        self.changed.set()

    async def wait(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self.changed.clear()
            await self.changed.wait()

    async def write(self) -> None:
        while True:
            await self.wait(lambda: len(self.out) > 0)
            data, self.out = bytes(self.out), bytearray()
            await self.send(data)
            self.changed.set()  # those who wait for room go on

    def frame(self, kind: int, number: int, payload: bytes) -> None:
        if kind == PART:
            self.parts.setdefault(number, bytearray()).extend(payload)
            self.put(GRANT, number, struct.pack("<I", len(payload)))
        elif kind == CALL:
            call = Call(pb.ExecuteRequest.FromString(bytes(self.parts.pop(number, b"")) + payload), self, number)
            task = asyncio.create_task(self.answer(call))
            self.calls[number], self.windows[number] = (call, task), WINDOW
            task.add_done_callback(lambda task: self.done(number, task))
        elif kind == CANCEL and self.parts.pop(number, None) is not None:
            self.put(RESULT, number, CANCELED)
        elif kind == GRANT and number in self.windows:
            self.windows[number] += struct.unpack("<I", payload)[0]
            self.changed.set()
        elif kind == ENDED:
            for ended in self.plugin._session_ended:
                ended(pb.SessionEnded.FromString(payload).session)
        elif number in self.calls:
            call, task = self.calls[number]
            if kind == CANCEL:
                task.cancel()
            elif kind == MORE:
                call._write(b"", struct.unpack("<I", payload)[0])
            elif kind == ANSWER:
                answer = pb.Answer.FromString(payload)
                if (question := call._questions.get(answer.number)) and not question.done():
                    question.set_result(answer)

    async def answer(self, call: Call) -> None:
        payload, number, at = (await self.plugin._answer(call, 0)).SerializeToString(), call._number, 0
        while len(payload) - at > FRAME:
            await self.wait(lambda: self.windows[number] >= CHUNK and len(self.out) < CHUNK)
            self.put(PART, number, payload[at:at + CHUNK], 0 if at else len(payload))
            self.windows[number] -= CHUNK
            at += CHUNK
        await self.wait(lambda: self.windows[number] >= len(payload) - at)
        self.put(RESULT, number, payload[at:])

    def done(self, number: int, task: asyncio.Task[None]) -> None:
        del self.calls[number], self.windows[number]
        if task.cancelled() or task.exception():  # also before it began
            self.put(RESULT, number, CANCELED)
