"""Starts the built plugin as a host does, and calls it."""
import json, os, pathlib, subprocess, tempfile, unittest

import grpc
import plugin_pb2 as pb

NAME = "notes"


class PluginTest(unittest.TestCase):
    def setUp(self):
        self.root, sockets = (pathlib.Path(self.enterDirectory()) for _ in range(2))
        program = pathlib.Path(__file__).parent / "bin" / NAME
        self.process = subprocess.Popen([program], cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={
            **os.environ, "TOOLHOST_PLUGIN": "toolhost.plugin.v1", "PLUGIN_PROTOCOL_VERSIONS": "1",
            "PLUGIN_UNIX_SOCKET_DIR": str(sockets)})
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        core, version, network, address, protocol = self.process.stdout.readline().strip().split("|")
        self.assertEqual((core, version, network, protocol), ("1", "1", "unix", "grpc"))
        self.channel = grpc.insecure_channel("unix:" + address)
        self.addCleanup(self.channel.close)
        self.configure(self.root)

    def enterDirectory(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return os.path.realpath(directory.name)

    def rpc(self, method, request, reply, service="toolhost.plugin.v1.ToolPlugin"):
        call = self.channel.unary_unary(f"/{service}/{method}", lambda m: m.SerializeToString(), reply.FromString)
        return call(request, timeout=60)

    def configure(self, root, protected=()):
        self.rpc("Configure", pb.ConfigureRequest(root=str(root), protected=protected), pb.ConfigureResponse)

    def execute(self, method="Execute", tool=NAME + ".add", **arguments):
        request = pb.ExecuteRequest(id="1", tool=tool, arguments_json=json.dumps(arguments).encode())
        return self.rpc(method, request, pb.ExecuteResponse)

    def test_description(self):
        said = self.rpc("Describe", pb.DescribeRequest(), pb.DescribeResponse)
        self.assertEqual((said.name, [tool.name for tool in said.tools]), (NAME, [NAME + ".add"]))

    def test_adds_notes(self):
        for number, arguments in enumerate([{"text": "é"}, {"text": "b", "priority": "high"}], 1):
            out = self.execute(**arguments)
            self.assertEqual(out.error.message, "")
            self.assertEqual(json.loads(out.result.structured_json), {"notes": number})
        self.assertEqual((self.root / "NOTES.md").read_text("utf-8"), "- [normal] é\n- [high] b\n")

    def test_preview_changes_nothing(self):
        shown = self.execute("Preview", text="a").result.content[0].text.text
        self.assertTrue(shown.endswith("\n+- [normal] a\n"), shown)
        self.assertEqual(list(self.root.iterdir()), [])

    def test_refuses_what_is_protected(self):
        self.configure(self.root, [str(self.root / "NOTES.md")])
        self.assertEqual(self.execute(text="a").error.code, "permission_denied")
        self.assertEqual(list(self.root.iterdir()), [])

    def test_refuses_a_link(self):
        (self.root / "NOTES.md").symlink_to("elsewhere")
        self.assertEqual(self.execute(text="a").error.code, "permission_denied")

    def test_unknown_tool(self):
        self.assertEqual(self.execute(tool="other", text="a").error.code, "not_found")

    def test_ends_when_it_is_told_to(self):
        self.rpc("Shutdown", pb.ConfigureResponse(), pb.ConfigureResponse, "plugin.GRPCController")
        self.assertEqual(self.process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
