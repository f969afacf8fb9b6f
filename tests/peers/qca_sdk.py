"""The official Qoder client against the practice server, with strict response validation.

Arguments: base URL, token. Ends with 0 only if everything matched.
Needs: qca-sdk 0.11.0.
"""

import sys
import uuid

import qca


def check(condition, what):
    if not condition:
        raise SystemExit(f"qca-sdk: {what}")
    print(f"ok: {what}")


def client(base_url, token):
    return qca.Managed(pat=token, base_url=base_url, max_retries=0, _strict_response_validation=True, timeout=20)


def new_session(managed, **metadata):
    session = managed.sessions.create(
        agent="agent_practice",
        environment_id="env_practice",
        title="Peer",
        metadata={"practice.pace": "fast", **metadata},
    )
    check(session.id.startswith("sess_") and session.status == "idle", "a session is created and idle")
    check(session.agent.name == "Practice agent", "its agent is a snapshot")
    return session.id


def text_message(text):
    return {"type": "user.message", "content": [{"type": "text", "text": text}]}


def until(stream, wanted):
    """Events up to and with the first that is wanted."""
    seen = []
    for event in stream:
        seen.append(event)
        if wanted(event):
            return seen
    raise SystemExit("qca-sdk: the stream ended early")


def is_idle(*reasons):
    return lambda event: event.type == "session.status_idle" and event.stop_reason.type in reasons


def kinds(events):
    return [event.type for event in events]


def previews_fold(managed):
    session = new_session(managed)
    with managed.sessions.events.stream(session, event_deltas=["agent.message", "agent.thinking"]) as stream:
        sent = managed.sessions.events.send(session, events=[text_message("Hello there, practice server")])
        check(sent.data[0].type == "user.message" and sent.data[0].id, "a message is accepted with an id")
        events = until(stream, is_idle("end_turn"))
    check(any(event.id == sent.data[0].id for event in events), "the echo has the id of the answer")
    start = next(event for event in events if event.type == "event_start")
    deltas = [event for event in events if event.type == "event_delta"]
    whole = next(event for event in events if event.type == "agent.message")
    check(len(deltas) > 1 and {event.event_id for event in deltas} == {start.event.id}, "previews share one id")
    check("".join(event.delta.content.text for event in deltas) == whole.content[0].text, "deltas make the message")
    check(whole.id == start.event.id, "the message has the preview's id")
    return session, events


def resume_by_cursor(managed, session, events):
    buffered = [event for event in events if event.type not in ("event_start", "event_delta")]
    with managed.sessions.events.stream(session, last_event_id=buffered[0].id) as stream:
        again = until(stream, is_idle("end_turn"))
    check([event.id for event in again] == [event.id for event in buffered[1:]], "a cursor resumes right behind it")


def pages_of_two(managed, session, events):
    buffered = [event.id for event in events if event.type not in ("event_start", "event_delta")]
    page = managed.sessions.events.list(session, limit=2)
    check(len(page.data) == 2 and page.has_more, "a page has two events and more follow")
    listed = [event.id for event in page]
    check(listed == buffered, "all pages together are what was streamed")
    newest = managed.sessions.events.list(session, limit=2, order="desc")
    check([event.id for event in newest.data] == buffered[:-3:-1], "the newest come first when asked")
    only = managed.sessions.events.list(session, types=["agent.message"])
    check(kinds(only.data) == ["agent.message"], "types filter the list")
    for _ in range(2):
        new_session(managed)
    sessions = [found.id for found in managed.sessions.list(limit=2)]
    check(len(sessions) == len(set(sessions)) >= 3, "sessions are listed in pages, each once")


def approval(managed):
    session = new_session(managed)
    with managed.sessions.events.stream(session) as stream:
        managed.sessions.events.send(session, events=[text_message("RUN:ls -la\nRUN:rm -rf build")])
        events = until(stream, is_idle("requires_action"))
        uses = [event for event in events if event.type == "agent.tool_use"]
        check([event.evaluated_permission for event in uses] == ["ask", "ask"], "two calls ask")
        check(events[-1].stop_reason.event_ids == [event.id for event in uses], "the idle names both")
        try:
            managed.sessions.events.send(session, events=[text_message("too early")])
            raise SystemExit("qca-sdk: a message while waiting was taken")
        except qca.ConflictError as error:
            check(error.status_code == 409, "a message while waiting is a conflict")
        answer = {"type": "user.tool_confirmation", "tool_use_id": uses[0].id, "result": "allow"}
        managed.sessions.events.send(session, events=[answer])
        partial = until(stream, is_idle("requires_action"))
        check(partial[-1].stop_reason.event_ids == [uses[1].id], "a partial answer leaves the rest")
        deny = {"type": "user.tool_confirmation", "tool_use_id": uses[1].id, "result": "deny", "deny_message": "no"}
        key = str(uuid.uuid4())
        first = managed.sessions.events.send(session, events=[deny], extra_headers={"Idempotency-Key": key})
        again = managed.sessions.events.send(session, events=[deny], extra_headers={"Idempotency-Key": key})
        check(first.data[0].id == again.data[0].id, "the same key gives the same answer")
        rest = until(stream, is_idle("end_turn"))
        results = [event for event in rest if event.type == "agent.tool_result"]
        check([event.tool_use_id for event in results] == [event.id for event in uses], "each call has its result")
        check([bool(event.is_error) for event in results] == [False, True], "the denied one is an error")
        try:
            managed.sessions.events.send(session, events=[deny])
            raise SystemExit("qca-sdk: a second answer was taken")
        except qca.ConflictError:
            check(True, "a second answer is a conflict")


def custom_tool(managed):
    session = new_session(managed)
    with managed.sessions.events.stream(session) as stream:
        managed.sessions.events.send(session, events=[text_message("ASK:tool")])
        events = until(stream, is_idle("requires_action"))
        use = next(event for event in events if event.type == "agent.custom_tool_use")
        check(use.name == "lookup_order" and use.input == {"order_id": "ord_123"}, "the client's tool is asked for")
        result = {
            "type": "user.custom_tool_result",
            "custom_tool_use_id": use.id,
            "content": [{"type": "text", "text": "shipped on Monday"}],
        }
        managed.sessions.events.send(session, events=[result])
        rest = until(stream, is_idle("end_turn"))
        said = [event.content[0].text for event in rest if event.type == "agent.message"]
        check(any("shipped on Monday" in text for text in said), "the agent goes on with the result")


def cancel(managed):
    session = new_session(managed, **{"practice.pace": "real"})
    with managed.sessions.events.stream(session, event_deltas=["agent.message"]) as stream:
        managed.sessions.events.send(session, events=[text_message("SLOW")])
        until(stream, lambda event: event.type == "event_delta")
        answer = managed.sessions.cancel(session)
        check(answer.status == "canceling", "cancel says canceling")
        rest = until(stream, is_idle("cancelled"))
        check("agent.message" not in kinds(rest), "a stopped preview gets no message")
    check(managed.sessions.cancel(session).status == "canceling", "cancel when idle does nothing")
    check(managed.sessions.retrieve(session).status == "idle", "the session is idle again")


def every_event(managed):
    session = new_session(managed, **{"practice.scenario": "every-event", "practice.start": "replay"})
    with managed.sessions.events.stream(session) as stream:
        streamed = kinds(until(stream, is_idle("end_turn")))
    check("future.kind" in streamed and "agent.artifact_delivered" in streamed, "every event passes the strict models")
    listed = kinds(managed.sessions.events.list(session, limit=100).data)
    check(listed == streamed, "a replay on connect is what the list holds")


def goal(managed):
    session = new_session(managed)
    with managed.sessions.events.stream(session) as stream:
        outcome = {
            "type": "user.define_outcome",
            "description": "A summary",
            "rubric": {"type": "text", "content": "- short"},
            "max_iterations": 3,
        }
        managed.sessions.events.send(session, events=[outcome])
        events = until(stream, is_idle("end_turn"))
    results = [event.result for event in events if event.type == "span.outcome_evaluation_end"]
    check(results == ["needs_revision", "satisfied"], "a goal is revised and then satisfied")
    evaluations = managed.sessions.retrieve(session).outcome_evaluations
    check(evaluations[0].result == "satisfied", "the session holds the last verdict")


def housekeeping(managed, base_url):
    session = new_session(managed)
    check(managed.sessions.update(session, title="Renamed").title == "Renamed", "a session is renamed")
    check(managed.sessions.archive(session).archived_at is not None, "a session is archived")
    try:
        managed.sessions.events.send(session, events=[text_message("late")])
        raise SystemExit("qca-sdk: an archived session took a message")
    except qca.APIStatusError:
        check(True, "an archived session takes nothing")
    check(managed.sessions.delete(session).id == session, "a session is deleted")
    try:
        managed.sessions.retrieve(session)
        raise SystemExit("qca-sdk: a deleted session was found")
    except qca.NotFoundError:
        check(True, "a deleted session is gone")
    names = [agent.name for agent in managed.agents.list(limit=2)]
    check("Practice agent" in names and "Retired agent" not in names, "archived agents are not offered")
    check([found.name for found in managed.environments.list()], "there is an environment")
    check([model.id for model in managed.models.list()], "there is a model")
    try:
        client(base_url, "wrong").sessions.list()
        raise SystemExit("qca-sdk: a wrong token was taken")
    except qca.AuthenticationError:
        check(True, "a wrong token is refused")


def main():
    base_url, token = sys.argv[1:3]
    managed = client(base_url, token)
    session, events = previews_fold(managed)
    resume_by_cursor(managed, session, events)
    pages_of_two(managed, session, events)
    approval(managed)
    custom_tool(managed)
    cancel(managed)
    every_event(managed)
    goal(managed)
    housekeeping(managed, base_url)
    print("qca-sdk: all matched")


main()
