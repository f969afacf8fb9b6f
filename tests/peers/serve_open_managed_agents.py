"""Serves open-managed-agents on loopback, on a port that the system chooses, and prints that port.

Arguments: the folder for its database. Ends when its standard input ends.
Needs: open-managed-agents 0.1.0 (Python >= 3.12).
"""

import asyncio
import os
import socket
import sys
import threading

folder = sys.argv[1]
os.environ["DATABASE_URL"] = f"sqlite+aiosqlite:///{folder}/agents.db"
os.environ["OMA_API_KEY"] = "peer-key"
os.environ["OMA_RUNTIME_BACKEND"] = "local"
os.environ["OMA_EVENT_POLL_INTERVAL_SECONDS"] = "0.05"

import uvicorn
from app.db.engine import get_engine
from app.db.models._base import Base
import open_managed_agents


async def make_tables():
    async with get_engine().begin() as connection:
        await connection.run_sync(Base.metadata.create_all)


def main():
    application = open_managed_agents.create_app()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))

    server = uvicorn.Server(uvicorn.Config(application, log_level="warning", lifespan="on"))

    def end_with_input():
        sys.stdin.read()
        server.should_exit = True
        server.force_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()

    async def serve():
        await make_tables()
        listener.listen(64)
        print(listener.getsockname()[1], flush=True)
        await server.serve(sockets=[listener])

    asyncio.run(serve())


main()
