"""Tests of toolhost.py's schemas and values, and of what needs no host."""
import asyncio, dataclasses, json, os, pathlib, tempfile, unittest
from typing import Annotated, Any, Literal, Optional

import plugin_pb2 as pb
import toolhost
from toolhost import Call, Plugin, ToolError


@dataclasses.dataclass
class Point:
    x: int
    y: Annotated[float, "How high.", {"minimum": 0}] = 1.5
    tags: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is below 0")


POINT = {"type": "object", "additionalProperties": False, "required": ["x"], "properties": {
    "x": {"type": "integer"}, "y": {"type": "number", "description": "How high.", "minimum": 0, "default": 1.5},
    "tags": {"type": "array", "items": {"type": "string"}}}}


class ToolhostTest(unittest.TestCase):
    def test_schemas(self) -> None:
        for hint, want in (
            (str, {"type": "string"}), (Any, {}), (object, {}), (list[int], {"type": "array", "items": {"type": "integer"}}),
            (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
            (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}), (Literal[1, "b"], {"enum": [1, "b"]}),
            (Annotated[str, {"maxLength": 3}, "Short."], {"type": "string", "maxLength": 3, "description": "Short."}),
            (Point, POINT), ({"type": "null"}, {"type": "null"}),
        ):
            self.assertEqual(toolhost.schema_of(hint), want)
        for hint in (bytes, pathlib.Path, list[bytes]):
            with self.assertRaises(KeyError, msg=hint):
                toolhost.schema_of(hint)

    def answer(self, plugin: Plugin, tool: str, **arguments: Any) -> pb.ExecuteResponse:
        request = pb.ExecuteRequest(tool=tool, arguments_json=json.dumps(arguments).encode())

        async def call() -> pb.ExecuteResponse:
            return await plugin._answer(Call(request), 0)
        return asyncio.run(call())

    def test_values(self) -> None:
        plugin = Plugin("p", "1")

        @plugin.tool()
        def move(to: Point, by: dict[str, float] | None = None, all: list[Point | int] = []) -> str:
            """Moves."""
            return repr((to, by, all))
        for arguments, want in (
            ({"to": {"x": 1.0}}, "(Point(x=1, y=1.5, tags=[]), None, [])"),
            ({"to": {"x": 1, "y": 2}, "by": {"a": 1}, "all": [3, {"x": 4}]},
             "(Point(x=1, y=2.0, tags=[]), {'a': 1.0}, [3, Point(x=4, y=1.5, tags=[])])"),
        ):
            self.assertEqual(self.answer(plugin, "move", **arguments).result.content[0].text.text, want)
        for wrong in ({}, {"to": 1}, {"to": {}}, {"to": {"x": "1"}}, {"to": {"x": 1.5}}, {"to": {"x": True}},
                      {"to": {"x": -1}}, {"to": {"x": 1, "z": 1}}, {"to": {"x": 1}, "by": [1]}, {"to": {"x": 1}, "more": 1}):
            self.assertEqual(self.answer(plugin, "move", **wrong).error.code, "invalid_arguments", wrong)

    def test_definitions(self) -> None:
        plugin = Plugin("p", "1")
        given = {"type": "object", "properties": {"token": {"type": "string", "writeOnly": True}}}

        @plugin.tool("other", input_schema=given, output_schema={"type": "object"}, safety="safe", timeout_ms=5)
        def anything(**arguments: Any) -> Any:
            """Takes anything."""
            return arguments
        definition = plugin._about.tools[0]
        self.assertEqual((definition.name, definition.description, definition.safety, definition.timeout_ms),
                         ("other", "Takes anything.", "safe", 5))
        self.assertEqual((json.loads(definition.input_schema_json), list(definition.sensitive)), (given, ["token"]))
        self.assertEqual(self.answer(plugin, "other", a=["ü", 1]).result.structured_json.decode(), '{"a":["ü",1]}')
        self.assertEqual(self.answer(plugin, "none").error.code, "not_found")

    def test_failures(self) -> None:
        plugin = Plugin("p", "1")

        @plugin.tool()
        def leave() -> None:
            """Leaves."""
            raise SystemExit(3)

        @plugin.tool()
        def nothing() -> float:
            """Gives what JSON does not have."""
            return float("nan")

        @plugin.tool()
        def name() -> str:
            """Gives a name that is not Unicode."""
            return os.fsdecode(b"\xff")
        self.assertEqual(self.answer(plugin, "leave").error.code, "tool_failed")
        self.assertEqual(self.answer(plugin, "nothing").error.code, "tool_failed")
        self.assertEqual(self.answer(plugin, "name").result.content[0].text.text, "?")

    def test_sessions(self) -> None:
        dropped: list[list[str]] = []
        plugin = Plugin("p", "1")
        get = plugin.sessions(list[str], dropped.append)

        async def use() -> None:
            def of(session: str) -> list[str]:
                return get(Call(pb.ExecuteRequest(session=session)))
            of("a").append("first")
            self.assertEqual((of("a"), of("b"), of("")), (["first"], [], []))
            of("").append("not kept")
            self.assertEqual(of(""), [])
            for number in range(1023):
                of(str(number))
        asyncio.run(use())
        self.assertEqual(dropped, [["first"]])

    def test_check_write(self) -> None:
        with tempfile.TemporaryDirectory() as made:
            root = os.path.realpath(made)
            plugin = Plugin("p", "1")
            plugin.root, plugin.protected = root, [root + "/a.yaml", root + "/dir/sub", root + "/not.there"]
            for name in ("a.yaml", "dir/sub", "other", "real"):
                os.makedirs(f"{root}/{name}") if name == "dir/sub" else pathlib.Path(root, name).touch()
            os.link(root + "/a.yaml", root + "/hard")
            os.symlink("a.yaml", root + "/link")
            os.symlink("dir", root + "/way")
            for path in ("a.yaml", "A.YAML", "a.yaml.1", "dir", "dir/sub", "dir/sub/x", "way/sub/x", "hard", "link",
                         "not.there", ".", root + "/a.yaml", "dir/../a.yaml"):
                with self.assertRaises(ToolError, msg=path):
                    plugin.check_write(path)
            for path in ("other", "a.yamlx", "dir/subs", "real", "new/file"):
                self.assertEqual(plugin.check_write(path), f"{root}/{path}")


if __name__ == "__main__":
    unittest.main()
