"""Runs the program `zettcode-server` on loopback, on a port that the system chooses, and prints that port.

Arguments: the port, 0 for any; then the program's own. Ends, with what it started, when its standard input ends.
Needs: zettcode 0.2.0 (Python >= 3.10).
"""

import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import uvicorn
from zettcode.server.cli import main

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))


def end_with_input():
    sys.stdin.read()
    # The program starts a broker in a session of its own, so that a signal to this group does not reach it.
    note = Path(os.environ["ZETTCODE_BROKER_DIR"], "broker.json")
    try:
        os.kill(json.loads(note.read_text())["pid"], signal.SIGKILL)
    except (OSError, ValueError, KeyError):
        pass
    os._exit(0)


class Server(uvicorn.Server):
    """Says the port when it is ready for requests."""

    async def startup(self, sockets=None):
        await super().startup(sockets=sockets)
        print(listener.getsockname()[1], file=told, flush=True)


def serve(application, **options):
    """Stands in for `uvicorn.run`: the same server, on the socket above."""
    options.pop("host"), options.pop("port")
    Server(uvicorn.Config(application, timeout_graceful_shutdown=1, **options)).run(sockets=[listener])


threading.Thread(target=end_with_input, daemon=True).start()
uvicorn.run = serve
# The program greets on its output, where only the port is wanted.
told, sys.stdout = sys.stdout, sys.stderr
main(sys.argv[2:])
