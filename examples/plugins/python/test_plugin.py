"""Calls the plugin's functions in a workspace of its own. make verify tests it as a host uses it."""
import os, pathlib, tempfile, unittest

import plugin
from toolhost import ToolError


class PluginTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(os.path.realpath(directory.name))
        plugin.plugin.root, plugin.plugin.protected = str(self.root), []

    def refuses(self) -> None:
        with self.assertRaises(ToolError) as caught:
            plugin.add("a")
        self.assertEqual(caught.exception.code, "permission_denied")

    def test_adds_notes(self) -> None:
        self.assertEqual([plugin.add("é").notes, plugin.add("b", "high").notes], [1, 2])
        self.assertEqual((self.root / "NOTES.md").read_text("utf-8"), "- [normal] é\n- [high] b\n")

    def test_preview_changes_nothing(self) -> None:
        self.assertTrue(plugin.preview("a").endswith("\n+- [normal] a\n"))
        self.assertEqual(list(self.root.iterdir()), [])

    def test_refuses_what_is_protected(self) -> None:
        plugin.plugin.protected = [str(self.root / "NOTES.md")]
        self.refuses()
        self.assertEqual(list(self.root.iterdir()), [])

    def test_refuses_a_link(self) -> None:
        (self.root / "NOTES.md").symlink_to("elsewhere")
        self.refuses()


if __name__ == "__main__":
    unittest.main()
