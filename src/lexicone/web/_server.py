"""Starts the server and opens a browser."""

import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import uvicorn

from lexicone.web._app import make_app
from lexicone.web._guard import own_names
from lexicone.web._sources import Opened

__all__ = ["Settings", "in_background", "serve"]


@dataclass(frozen=True)
class Settings:
    """Where it listens, and how much it may take."""

    host: str = "127.0.0.1"
    port: int = 8421
    """0 for any that is free."""
    names: Sequence[str] = field(default=())
    """Other names by which browsers may call it."""
    workers: int = 3
    seconds: float = 60.0


def serve(opened: Opened, settings: Settings, say: Callable[[str], None], browser: bool) -> None:
    """Serves until it is interrupted."""
    with _prepared(opened, settings) as (server, listening, address):

        def ready() -> None:
            say(address)
            if browser:
                webbrowser.open(address)

        watch = threading.Thread(target=_when_started, args=(server, ready), daemon=True)
        watch.start()
        try:
            _run(server, listening)
        except KeyboardInterrupt:
            say("closed")
        if not server.started:
            raise OSError("the page could not be started; what stands above says why")


@contextmanager
def in_background(opened: Opened, settings: Settings) -> Iterator[str]:
    """The same in a thread, for tests; gives the address."""
    with _prepared(opened, settings) as (server, listening, address):
        thread = threading.Thread(target=_run, args=(server, listening), daemon=True)
        thread.start()
        while thread.is_alive() and not server.started:
            thread.join(0.02)
        if not server.started:
            raise RuntimeError("the server could not be started")
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def _prepared(
    opened: Opened, settings: Settings
) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    listening = _listen(settings.host, settings.port)
    port = listening.getsockname()[1]
    names = own_names(settings.host, port, settings.names)
    shown = settings.host if settings.host not in ("0.0.0.0", "::") else "127.0.0.1"
    shown = f"[{shown}]" if ":" in shown else shown
    address = f"http://{shown}:{port}/" + (f"#{opened.state}" if opened.state else "")
    with listening, tempfile.TemporaryDirectory(prefix="lexicone-page-") as folder:
        app = make_app(
            opened, folder, lambda: names, workers=settings.workers, seconds=settings.seconds
        )
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=200,
            timeout_graceful_shutdown=1,
            lifespan="on",
            ws="none",
            proxy_headers=False,
            loop="asyncio",
        )
        yield uvicorn.Server(config), listening, address


def _listen(host: str, port: int) -> socket.socket:
    """A socket at that port; at any free one if another program has it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in dict.fromkeys((port, 0)):
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, wanted))
        except OSError as error:
            found.close()
            if wanted == 0 or error.errno is None:
                raise ValueError(f"--host: cannot listen at {host}: {error.strerror}") from None
            continue
        return found
    raise ValueError(f"--port: cannot listen at {host}:{port}")


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    with suppress(SystemExit):  # so uvicorn says that it did not start
        server.run(sockets=[listening])


def _when_started(server: uvicorn.Server, then: Callable[[], None]) -> None:
    waiting = threading.Event()
    while not server.started and not server.should_exit:
        waiting.wait(0.02)
    then()
