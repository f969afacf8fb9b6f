"""How fast the official Qoder client reads a stream: prints the number of events and the seconds.

Arguments: base URL, session id, `dict` (plain dictionaries) or `model` (its typed models).
"""

import sys
import time

import httpx
import qca
from qca.common._streaming import Stream

base, session, mode = sys.argv[1:4]


def dicts():
    with httpx.Client(trust_env=False) as client:
        request = client.build_request("GET", f"{base}/sessions/{session}/events/stream")
        yield from Stream(client.send(request, stream=True), dict)


def models():
    managed = qca.Managed(pat="bench", base_url=base, max_retries=0, timeout=120)
    with managed.sessions.events.stream(session) as stream:
        yield from stream


count = 0
start = time.perf_counter()
for event in dicts() if mode == "dict" else models():
    count += 1
    kind = event["type"] if mode == "dict" else event.type
    if kind == "session.status_terminated":
        break
print(count, time.perf_counter() - start)
