"""A model that does as it is told: OpenAI chat completions on loopback, on a port that the system chooses and this prints.

Lines of the newest user text steer it:

    run: COMMAND           a shell call; several lines, several calls in one step
    ask: QUESTION / A / B  a question with options; `ask many:` lets several be chosen, `ask:` without options is free
    think: WORDS           thoughts before the answer
    hold: WORDS            says the words, then stands still until `POST /go`, then ends
    weighs: NUMBER         says that it read so many tokens, as if the context were that full
    out of room            stops at its limit of output
    fall over              answers 500

Anything else is said back. After a tool's result it tells what the tool said. `POST /go` releases one hold, or the
next one if none stands; `GET /seen` lists what was asked of it. Ends when its standard input ends.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "fake-1"
go = threading.Semaphore(0)
seen = []
lock = threading.Lock()


def words_of(content):
    """The text of a message, whose content is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def images_of(messages):
    parts = [part for message in messages if isinstance(message.get("content"), list) for part in message["content"]]
    return sum(1 for part in parts if isinstance(part, dict) and part.get("type") == "image_url")


class Answer:
    """What the model does in one step."""

    def __init__(self):
        self.thoughts, self.text, self.tail, self.calls, self.finish, self.read = "", "", "", [], "stop", 100


def question_call(rest, many):
    question, *options = [part.strip() for part in rest.split(" / ")]
    return "ask_user", {"question": question, "options": options, "allow_multiple": many}


def next_step(messages, tools):
    answer = Answer()
    last = messages[-1]
    if last["role"] == "tool":
        answer.text = "The tool said: " + words_of(last["content"]).strip()[:200]
        return answer
    told = next((words_of(m["content"]) for m in reversed(messages) if m["role"] == "user"), "")
    if not tools:
        # A title, a summary or a question beside the transcript: nothing to run, nothing to hold.
        answer.text = "In short: " + " ".join(told.split())[-60:]
        return answer
    for line in told.splitlines():
        line = line.strip()
        if line.startswith("run: ") and "bash" in tools:
            answer.calls.append(("bash", {"command": line[5:]}))
        elif line.startswith("ask: ") and "ask_user" in tools:
            answer.calls.append(question_call(line[5:], many=False))
        elif line.startswith("ask many: ") and "ask_user" in tools:
            answer.calls.append(question_call(line[10:], many=True))
        elif line.startswith("think: "):
            answer.thoughts = line[7:]
        elif line.startswith("hold: "):
            answer.text, answer.tail = line[6:], " And that was all."
        elif line.startswith("weighs: "):
            answer.read = int(line[8:])
        elif line == "out of room":
            answer.finish = "length"
    if not answer.text:
        answer.text = "Using a tool." if answer.calls else "You said: " + " ".join(told.split())[-80:]
    if answer.calls:
        answer.finish = "tool_calls"
    return answer


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer_json(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/seen":
            with lock:
                return self.answer_json(200, seen)
        self.answer_json(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1, "owned_by": "here"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path == "/go":
            go.release()
            return self.answer_json(200, {})
        if not self.path.endswith("/chat/completions"):
            return self.answer_json(404, {"error": {"message": f"nothing at {self.path}"}})
        messages = body["messages"]
        tools = {tool["function"]["name"] for tool in body.get("tools") or [] if tool.get("type") == "function"}
        users = [words_of(m["content"]) for m in messages if m["role"] == "user"]
        with lock:
            seen.append({"user": users[-1] if users else "", "tools": bool(tools), "images": images_of(messages)})
            number = len(seen)
        if users and tools and "fall over" in users[-1]:
            return self.answer_json(500, {"error": {"message": "the model fell over", "type": "server_error"}})
        self.reply(body, next_step(messages, tools), number)

    def reply(self, body, answer, number):
        usage = {"prompt_tokens": answer.read, "completion_tokens": 10, "total_tokens": answer.read + 10}
        calls = [
            {"index": i, "id": f"call_{number}_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(answer.calls)
        ]
        head = {"id": f"step-{number}", "created": 1, "model": MODEL}
        if not body.get("stream"):
            message = {"role": "assistant", "content": answer.text + answer.tail}
            if calls:
                message["tool_calls"] = [{key: call[key] for key in ("id", "type", "function")} for call in calls]
            choice = {"index": 0, "message": message, "finish_reason": answer.finish}
            return self.answer_json(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})

        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

        def send(delta=None, finish=None, **more):
            choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
            chunk = {**head, "object": "chat.completion.chunk", "choices": choices, **more}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            self.wfile.flush()

        def say(key, text):
            for word in text.split(" "):
                send({key: word + " "})

        try:
            send({"role": "assistant", "content": ""})
            if answer.thoughts:
                say("reasoning_content", answer.thoughts)
            if answer.text:
                say("content", answer.text)
            if answer.tail:
                go.acquire()
                say("content", answer.tail.strip())
            for call in calls:
                send({"tool_calls": [call]})
            send({}, answer.finish)
            send(usage=usage)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            # Whoever asked has gone, as at a cancelled run.
            pass


def end_with_input():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
