//! The reducer with events by hand: times that servers tell only in part.

use contract::{
    event::{Event, EventBody, Permission, RequestSeed},
    item::{ItemBody, MessageState, Role, Thought, ToolCall, ToolState},
    request::{ChoiceKind, Fate, RequestKind},
    server::ServerId,
    session::SessionId,
};
use pretty_assertions::assert_eq;

use super::*;

struct Script {
    reducer: Reducer,
    position: i64,
}

impl Script {
    fn new() -> Self {
        let owner = Owner {
            session: SessionId(1),
            remote_session: "sess_1".into(),
            server: ServerId("srv".into()),
            server_name: "Server".into(),
        };
        let mut script = Self { reducer: Reducer::new(owner, HashMap::new()), position: 0 };
        script.at(0, EventBody::TurnStarted);
        script
    }

    fn at(&mut self, at: Millis, body: EventBody) -> &mut Self {
        self.position += 1;
        let place = Place { received_at: at, position: self.position };
        self.reducer.apply(Event { at: Some(at), turn: None, thread: None, body }, place);
        self
    }

    fn asks(&mut self, at: Millis, id: &str) -> &mut Self {
        self.calls(at, id, Permission::Ask).requests(at, id)
    }

    fn calls(&mut self, at: Millis, id: &str, permission: Permission) -> &mut Self {
        let call =
            EventBody::ToolCall { id: id.into(), name: "shell".into(), source: None, input: "{}".into(), permission };
        self.at(at, call)
    }

    fn requests(&mut self, at: Millis, id: &str) -> &mut Self {
        let seed = RequestSeed {
            id: id.into(),
            item: Some(id.into()),
            kind: RequestKind::Approval,
            tool: Some("shell".into()),
            source: None,
            arguments: "{}".into(),
            command: None,
            work_dir: None,
            questions: Vec::new(),
            choices: Vec::new(),
            answerable: true,
            deadline_ms: None,
            too_large: false,
            group: None,
            own_tool: None,
        };
        self.at(at, EventBody::Request(Box::new(seed)))
    }

    fn settled(&mut self, at: Millis, id: &str, choice: ChoiceKind) -> &mut Self {
        let body = EventBody::Settled {
            request: id.into(),
            choice: Some(choice),
            reason: None,
            event_id: format!("answer {id}"),
            output: Vec::new(),
        };
        self.at(at, body)
    }

    fn result(&mut self, at: Millis, call: &str) -> &mut Self {
        let body = EventBody::ToolResult {
            id: format!("result {call}"),
            call: call.into(),
            name: None,
            output: Vec::new(),
            is_error: false,
        };
        self.at(at, body)
    }

    fn failed(&mut self, at: Millis, call: &str) -> &mut Self {
        let body = EventBody::ToolResult {
            id: format!("result {call}"),
            call: call.into(),
            name: None,
            output: Vec::new(),
            is_error: true,
        };
        self.at(at, body)
    }

    fn tool(&self, id: &str) -> &ToolCall {
        match &self.reducer.transcript.get(id).unwrap().body {
            ItemBody::Tool(tool) => tool,
            other => panic!("{other:?}"),
        }
    }

    fn thought(&self, id: &str) -> &Thought {
        match &self.reducer.transcript.get(id).unwrap().body {
            ItemBody::Thought(thought) => thought,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_tool_s_time_does_not_count_the_wait_for_the_person() {
    let mut script = Script::new();
    script.asks(1_000, "call").settled(13_000, "call", ChoiceKind::AllowOnce).result(14_300, "call");
    let tool = script.tool("call");
    assert_eq!((tool.started_at, tool.ended_at, &tool.state), (Some(13_000), Some(14_300), &ToolState::Done));
}

#[test]
fn a_tool_of_a_batch_runs_from_the_last_answer() {
    let mut script = Script::new();
    script.asks(1_000, "a").asks(1_000, "b").asks(1_000, "c");
    script.settled(2_000, "a", ChoiceKind::AllowOnce).settled(9_000, "b", ChoiceKind::AllowOnce);
    // A server that does not wait for the others.
    script.result(9_500, "b");
    script.settled(30_000, "c", ChoiceKind::Deny).result(31_000, "a");
    assert_eq!((script.tool("a").started_at, script.tool("a").ended_at), (Some(30_000), Some(31_000)));
    assert_eq!((script.tool("b").started_at, script.tool("b").ended_at), (Some(9_000), Some(9_500)));
}

#[test]
fn a_tool_whose_answer_nobody_saw_has_no_time_of_its_own() {
    let mut script = Script::new();
    script.asks(1_000, "call").result(20_000, "call");
    assert_eq!(script.tool("call").started_at, None);
}

#[test]
fn a_tool_that_the_person_ran_has_no_time_of_its_own() {
    let mut script = Script::new();
    script.asks(1_000, "call").settled(20_000, "call", ChoiceKind::Answer);
    assert_eq!((script.tool("call").started_at, &script.tool("call").state), (None, &ToolState::Done));
}

#[test]
fn a_call_that_waits_for_the_person_has_no_bar_of_its_own() {
    let mut script = Script::new();
    // Servers announce a client tool as any other call; only its request says that nothing runs.
    script.calls(1_000, "call", Permission::Unsaid).requests(1_000, "call");
    assert_eq!(script.reducer.turn.turn.as_ref().unwrap().spans, []);
    script.settled(5_000, "call", ChoiceKind::AllowOnce).result(7_000, "call");
    let spans = &script.reducer.turn.turn.as_ref().unwrap().spans;
    assert_eq!((spans.len(), spans[0].started_at, spans[0].ended_at), (1, 5_000, Some(7_000)));
}

#[test]
fn a_thought_told_when_it_is_over_is_timed_from_its_beginning() {
    let mut script = Script::new();
    let thinks = |id: &str| EventBody::Thought { id: id.into(), text: String::new(), active: true };
    let says = |id: &str| EventBody::Message {
        id: id.into(),
        replaces: None,
        role: Role::Agent,
        parts: Vec::new(),
        state: MessageState::Done,
    };
    script.at(1_000, EventBody::ModelStarted { id: "m".into() }).at(7_000, thinks("t")).at(7_100, says("s"));
    assert_eq!(script.thought("t").took_ms, Some(6_100));
    // A second one of the same request began when the agent had said something.
    script.at(9_000, thinks("u")).at(9_100, says("v"));
    assert_eq!(script.thought("u").took_ms, Some(2_000));
    // Without a request to the model nothing earlier is known.
    script.at(9_200, EventBody::ModelEnded { id: "m".into(), is_error: false });
    script.at(20_000, thinks("w")).at(21_500, says("x"));
    assert_eq!(script.thought("w").took_ms, Some(1_500));
}

#[test]
fn a_denied_call_whose_server_says_only_that_it_failed_is_shown_as_denied() {
    for (choice, state) in
        [(ChoiceKind::Deny, ToolState::Denied { reason: None }), (ChoiceKind::AllowOnce, ToolState::Failed)]
    {
        let mut script = Script::new();
        script.asks(1_000, "call");
        let ours = Ours { choice, fate: Fate::Sending, at: 2_000, digest: String::new() };
        script.reducer.decided("call", ours, 1);
        script.failed(3_000, "call");
        assert_eq!(script.tool("call").state, state);
    }
}

#[test]
fn a_call_that_seemed_dropped_waits_once_it_is_asked_about() {
    let mut script = Script::new();
    script.calls(1_000, "call", Permission::Unsaid);
    script.at(2_000, EventBody::ToolEnded { call: "call".into(), state: ToolState::Cancelled });
    assert_eq!(script.tool("call").ended_at, Some(2_000));
    script.requests(3_000, "call");
    assert_eq!((&script.tool("call").state, script.tool("call").ended_at), (&ToolState::Waiting, None));
    script.settled(5_000, "call", ChoiceKind::AllowOnce).result(7_000, "call");
    assert_eq!((&script.tool("call").state, script.tool("call").ended_at), (&ToolState::Done, Some(7_000)));
}
