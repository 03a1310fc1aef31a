"""The plugin with which TestTen compares languages. Its twins are next to it."""
import asyncio, dataclasses, sys
from typing import NoReturn

from toolhost import Call, Needs, Plugin, ToolError

plugin = Plugin("ten", "0.1.0", needs=Needs())


@dataclasses.dataclass
class Settings:
    greeting: str = "hello"


@dataclasses.dataclass
class Kept:
    value: str = ""


def forget(kept: Kept) -> None:
    print("forgot", kept.value, file=sys.stderr)


settings = plugin.configuration(Settings)
kept = plugin.sessions(Kept, forget)


@plugin.tool(safety="safe")
def echo(text: str) -> dict[str, str]:
    """Says it again."""
    return {"text": text}


@plugin.tool(safety="safe")
def add(a: int, b: int = 1) -> dict[str, int]:
    """Adds."""
    return {"sum": a + b}


@plugin.tool(safety="safe")
def fail(code: str, retry_after: float = 0) -> NoReturn:
    """Fails."""
    raise ToolError(code, "as you asked", "do not ask", retry_after)


@plugin.tool(safety="safe")
def count(call: Call, n: int) -> dict[str, int]:
    """Counts."""
    for i in range(1, n + 1):
        call.progress(i, n)
        call.write(f"{i}\n")
    return {"n": n}


@plugin.tool(safety="safe")
async def sleep(call: Call, seconds: float) -> None:
    """Waits."""
    call.progress(0, seconds)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        call.log("woken", "warn")
        raise


@plugin.tool(safety="safe")
def remember(call: Call, value: str) -> None:
    """Keeps a value for the session."""
    kept(call).value = value


@plugin.tool(safety="safe")
def recall(call: Call) -> Kept:
    """Has the session's value, or nothing."""
    return kept(call)


@plugin.tool(safety="safe")
async def ask(call: Call, question: str) -> dict[str, str]:
    """Asks for a yes or a no."""
    action, _ = await call.ask(question)
    return {"answer": action}


@plugin.tool(safety="safe")
def configured() -> Settings:
    """Has the configured greeting."""
    return settings()


def would_change(path: str) -> str:
    return "would change " + path


@plugin.tool(safety="cautious", preview=would_change)
def change(path: str) -> str:
    """Changes."""
    return "changed " + path


@plugin.tool(safety="safe")
def boom() -> None:
    """Breaks."""
    raise RuntimeError("boom")


plugin.main()
