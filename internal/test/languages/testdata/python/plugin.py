"""What TestPython has a host do with toolhost.py."""
import asyncio, dataclasses, threading
from typing import Literal

from toolhost import Call, Needs, Plugin

plugin = Plugin("ten", "0.1.0", needs=Needs())


@dataclasses.dataclass
class Settings:
    region: str = "eu"

    def __post_init__(self) -> None:
        if self.region == "moon":
            raise ValueError("there is nothing on the moon")


@dataclasses.dataclass
class Order:
    size: Literal["s", "m"]
    gift: bool = False


settings = plugin.configuration(Settings)
threads, tasks = threading.Barrier(64), asyncio.Barrier(64)


@plugin.tool(safety="safe")
async def story(call: Call, pieces: int) -> str:
    """Writes a long text."""
    for _ in range(pieces):
        call.write("é" * 500)
        await asyncio.sleep(0)
    return ""


@plugin.tool(safety="safe")
def big(characters: int) -> str:
    """Returns a long text."""
    return "é" * characters


@plugin.tool(safety="safe")
def length(text: str) -> int:
    """Has the length of a text."""
    return len(text)


@plugin.tool(safety="safe")
async def order(call: Call) -> dict[str, object]:
    """Asks with a form."""
    action, form = await call.ask("Which?", Order)
    return {"action": action, **form}


@plugin.tool(safety="safe")
async def meet() -> None:
    """Returns when 64 calls are there."""
    await tasks.wait()


@plugin.tool(safety="safe")
def meet_threads() -> None:
    """Returns when 64 calls are there."""
    threads.wait()


async def end() -> None:
    print("ended well")


plugin.end = end
plugin.main()
