"""A plugin of toolhost with one tool. docs/plugin-protocol.md describes all that it does."""
import difflib, json, os, sys, threading
from concurrent import futures

import grpc
import plugin_pb2 as pb

NAME, VERSION = "notes", "0.1.0"
INPUT = {"type": "object", "required": ["text"], "additionalProperties": False, "properties": {
    "text": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": r"^[^\r\n]*$", "description": "One line."},
    "priority": {"enum": ["low", "normal", "high"], "default": "normal", "description": "How urgent it is."}}}
OUTPUT = {"type": "object", "required": ["notes"], "properties": {
    "notes": {"type": "integer", "description": "How many notes there are now."}}}
ADD = pb.ToolDefinition(name=NAME + ".add", description="Adds a note to NOTES.md in the workspace.",
                        input_schema_json=json.dumps(INPUT).encode(), output_schema_json=json.dumps(OUTPUT).encode(),
                        safety="cautious", permission="fs:write")
DESCRIPTION = pb.DescribeResponse(name=NAME, version=VERSION, tools=[ADD], features=["preview"],
                                  needs=pb.Needs(write=["workspace"]))
config, lock, ended = pb.ConfigureRequest(), threading.Lock(), threading.Event()


class Failure(Exception):  # The call fails: a code of docs/reference/errors.md, what happened, what to do.
    pass


def notes():
    path = os.path.join(os.path.realpath(config.root), "NOTES.md")
    if os.path.islink(path) or any((path + "/").startswith((p + "/", p + ".")) for p in config.protected):
        raise Failure("permission_denied", "NOTES.md is protected, or a link.", "Choose another workspace.")
    return path, open(path, encoding="utf-8").readlines() if os.path.exists(path) else []


def preview(text, priority="normal"):
    _, old = notes()
    return "".join(difflib.unified_diff(old, old + [f"- [{priority}] {text}\n"], "NOTES.md", "NOTES.md")), b""


def add(text, priority="normal"):
    path, old = notes()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o666), "a", encoding="utf-8") as file:
        file.write(f"- [{priority}] {text}\n")
    return f"added note {len(old) + 1}", json.dumps({"notes": len(old) + 1}).encode()


def answer(tool):
    def call(request, context):
        try:
            if request.tool != ADD.name:
                raise Failure("not_found", "There is no tool " + request.tool, "")
            with lock:  # calls overlap
                text, structured = tool(**json.loads(request.arguments_json or "{}"))
            content = [pb.Content(text=pb.Text(text=text))]
            return pb.ExecuteResponse(result=pb.Result(content=content, structured_json=structured))
        except Failure as failure:
            return pb.ExecuteResponse(error=pb.Error(**dict(zip(("code", "message", "hint"), failure.args))))
        except Exception as error:  # a gRPC status would mean that the plugin is broken
            return pb.ExecuteResponse(error=pb.Error(code="tool_failed", message=str(error)))
    return call


if __name__ == "__main__":
    if os.environ.get("TOOLHOST_PLUGIN") != "toolhost.plugin.v1":
        sys.exit(NAME + " is a plugin of toolhost, which starts it from a plugin directory")
    server = grpc.server(futures.ThreadPoolExecutor(64), options=[
        (f"grpc.max_{way}_message_length", 64 << 20) for way in ("receive", "send")])
    for service, methods in {"toolhost.plugin.v1.ToolPlugin": {
            "Describe": (pb.DescribeRequest, lambda *_: DESCRIPTION),
            "Configure": (pb.ConfigureRequest, lambda request, _: config.CopyFrom(request) or pb.ConfigureResponse()),
            "Execute": (pb.ExecuteRequest, answer(add)), "Preview": (pb.ExecuteRequest, answer(preview)),
    }, "plugin.GRPCController": {  # its messages have no fields, as ConfigureResponse
            "Shutdown": (pb.ConfigureResponse, lambda *_: ended.set() or pb.ConfigureResponse())}}.items():
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {
            name: grpc.unary_unary_rpc_method_handler(call, message.FromString, lambda out: out.SerializeToString())
            for name, (message, call) in methods.items()})])
    server.add_insecure_port("unix:" + (socket := os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "plugin")))
    server.start()
    print(f"1|1|unix|{socket}|grpc", flush=True)
    ended.wait()
    server.stop(0.5).wait()
