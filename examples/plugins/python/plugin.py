"""A plugin of toolhost with one tool. Begin here; toolhost.py is what it is made with."""
import dataclasses, os, pathlib, threading
from typing import Annotated, Literal

from toolhost import Needs, Plugin, ToolError

plugin = Plugin("notes", "0.1.0", needs=Needs(write=["workspace"]))
lock = threading.Lock()  # calls overlap
Line = Annotated[str, "One line.", {"minLength": 1, "maxLength": 500, "pattern": r"^[^\r\n]*$"}]
Priority = Annotated[Literal["low", "normal", "high"], "How urgent it is."]


@dataclasses.dataclass
class Added:
    notes: Annotated[int, "How many notes there are now."]


def notes() -> tuple[pathlib.Path, int]:
    path = pathlib.Path(plugin.check_write("NOTES.md"))
    if path.is_symlink():
        raise ToolError("permission_denied", "NOTES.md is a link", "remove it")
    return path, path.read_text("utf-8").count("\n") if path.exists() else 0


def preview(text: Line, priority: Priority = "normal") -> str:
    _, count = notes()
    return f"--- NOTES.md\n+++ NOTES.md\n@@ -{count},0 +{count + 1} @@\n+- [{priority}] {text}\n"


@plugin.tool("notes.add", safety="cautious", permission="fs:write", preview=preview)
def add(text: Line, priority: Priority = "normal") -> Added:
    """Adds a note to NOTES.md in the workspace."""
    with lock:
        path, count = notes()
        with open(path, "a", encoding="utf-8", opener=lambda p, how: os.open(p, how | os.O_NOFOLLOW, 0o666)) as file:
            file.write(f"- [{priority}] {text}\n")
    return Added(count + 1)


if __name__ == "__main__": plugin.main()
