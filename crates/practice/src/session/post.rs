//! What a session makes of the events that a client posts (wire page §4, §9; Claude page §5).
//! All events of one request are taken, or none.

use serde_json::{Value, json};

use super::{Answer, Goal, Input, Phase, State, now};
use crate::{Form, http::Refusal, voice};

/// What was asked for, once it is known to be sound.
enum Sound {
    Message { text: String },
    Interrupt,
    Answer { id: String, answer: Answer },
    Outcome { goal: Goal, rubric: Value },
    Note,
}

fn text_of(content: &Value) -> String {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    texts.join("\n")
}

fn word<'a>(event: &'a Value, key: &str) -> Result<&'a str, Refusal> {
    event
        .get(key)
        .and_then(Value::as_str)
        .filter(|word| !word.is_empty())
        .ok_or_else(|| Refusal::invalid(format!("events: `{key}` is required"), key))
}

fn content(event: &Value) -> Result<&Value, Refusal> {
    match event.get("content") {
        Some(content @ Value::Array(blocks)) if !blocks.is_empty() => {
            let known = ["text", "image", "document"];
            let kind = |block: &Value| block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            match blocks.iter().map(kind).find(|kind| !known.contains(&kind.as_str())) {
                Some(kind) => Err(Refusal::invalid(format!("content: unknown block type {kind:?}"), "content")),
                None => Ok(content),
            }
        }
        // §2: a string instead of blocks is refused.
        _ => Err(Refusal::invalid("content: must be a non-empty array of blocks", "content")),
    }
}

/// Takes the events of one request and gives them back as they were accepted.
pub(crate) fn take(state: &mut State, events: &[Value]) -> Result<Vec<Value>, Refusal> {
    if state.profile.archived_at.is_some() {
        return Err(Refusal::conflict("the session is archived"));
    }
    if state.profile.phase == Phase::Terminated {
        return Err(Refusal::conflict("the session is terminated"));
    }
    if events.is_empty() {
        return Err(Refusal::invalid("events: must not be empty", "events"));
    }
    let mut sound = Vec::new();
    for (place, event) in events.iter().enumerate() {
        sound.push(check(state, events, place, event, &sound)?);
    }
    let answers = sound.iter().any(|sound| matches!(sound, Sound::Answer { .. }));
    let mut accepted = Vec::new();
    for (event, sound) in events.iter().zip(sound) {
        accepted.push(apply(state, event, sound));
    }
    // A partial answer: idle again with what remains (§9).
    if answers && state.profile.phase == Phase::Waiting && !state.open_ids().is_empty() {
        state.idle("requires_action");
    }
    state.touch();
    Ok(accepted)
}

fn check(state: &State, all: &[Value], place: usize, event: &Value, before: &[Sound]) -> Result<Sound, Refusal> {
    match word(event, "type")? {
        "user.message" => {
            let text = text_of(content(event)?);
            let first_answers = before.iter().any(|sound| matches!(sound, Sound::Interrupt));
            match state.profile.phase {
                Phase::Idle => {}
                _ if state.manner.form == Form::Claude || first_answers => {}
                Phase::Waiting => return Err(Refusal::conflict("the session waits for an answer (requires_action)")),
                _ => return Err(Refusal::conflict("a turn is running")),
            }
            Ok(Sound::Message { text })
        }
        "user.interrupt" => Ok(Sound::Interrupt),
        "user.tool_confirmation" => {
            let id = word(event, "tool_use_id")?.to_owned();
            let message = event.get("deny_message").and_then(Value::as_str).map(str::to_owned);
            let answer = match (word(event, "result")?, message) {
                ("allow", None) => Answer::Allow,
                ("allow", Some(_)) => {
                    return Err(Refusal::invalid("deny_message goes only with deny", "deny_message"));
                }
                ("deny", message) => Answer::Deny(message),
                (other, _) => return Err(Refusal::invalid(format!("result: unknown value {other:?}"), "result")),
            };
            answerable(state, &id, false, before)?;
            Ok(Sound::Answer { id, answer })
        }
        "user.custom_tool_result" => {
            let id = word(event, "custom_tool_use_id")?.to_owned();
            answerable(state, &id, true, before)?;
            let failed = event.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            if event.get("content").is_some_and(|content| !content.is_array() && !content.is_null()) {
                return Err(Refusal::invalid("content: must be an array of blocks", "content"));
            }
            let text = event.get("content").map(text_of).unwrap_or_default();
            Ok(Sound::Answer { id, answer: Answer::Result { text, failed } })
        }
        "user.tool_result" => {
            word(event, "tool_use_id")?;
            Ok(Sound::Note)
        }
        "user.define_outcome" => {
            if state.profile.phase != Phase::Idle && state.manner.form != Form::Claude {
                return Err(Refusal::conflict("a turn is running"));
            }
            let description = word(event, "description")?.to_owned();
            let rubric = event.get("rubric").filter(|rubric| rubric.is_object());
            let rubric = rubric.ok_or_else(|| Refusal::invalid("rubric: must be an object", "rubric"))?.clone();
            let most = event.get("max_iterations").map_or(Some(3), Value::as_u64);
            let most = most
                .filter(|most| (1..=20).contains(most))
                .ok_or_else(|| Refusal::invalid("max_iterations: 1 to 20", "max_iterations"))?;
            let goal = Goal { id: state.id("outc"), description, max_iterations: most };
            Ok(Sound::Outcome { goal, rubric })
        }
        "system.message" => {
            content(event)?;
            let follows = place.checked_sub(1).and_then(|place| all.get(place)).and_then(|event| event.get("type"));
            let follows = follows.and_then(Value::as_str).unwrap_or_default();
            let behind_one = ["user.message", "user.tool_result", "user.custom_tool_result"].contains(&follows);
            if place + 1 != all.len() || !behind_one {
                return Err(Refusal::invalid("system.message must be last, behind a message or a result", "events"));
            }
            Ok(Sound::Note)
        }
        other => Err(Refusal::invalid(format!("events: unknown type {other:?}"), "type")),
    }
}

fn answerable(state: &State, id: &str, custom: bool, before: &[Sound]) -> Result<(), Refusal> {
    let twice = before.iter().any(|sound| matches!(sound, Sound::Answer { id: other, .. } if other == id));
    if twice || state.answers.contains_key(id) {
        return Err(Refusal::conflict("this call was answered already"));
    }
    let known = state.main.find(id).is_some();
    match state.program.pending.iter().find(|pending| pending.id == id) {
        Some(pending) if pending.custom == custom => Ok(()),
        Some(_) => Err(Refusal::invalid("the answer is of the wrong kind for this call", "tool_use_id")),
        None if known => Err(Refusal::conflict("this call does not wait for an answer")),
        None => Err(Refusal::invalid("no such call", "tool_use_id")),
    }
}

fn apply(state: &mut State, event: &Value, sound: Sound) -> Value {
    let id = state.event_id();
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut payload = event.clone();
    if let Some(fields) = payload.as_object_mut() {
        // What a client sends as id or time is not ours.
        fields.remove("id");
        fields.remove("processed_at");
    }
    match sound {
        Sound::Message { text } => {
            state.announce_turn();
            // Claude queues: no time until the agent picks it up.
            if state.profile.phase != Phase::Idle {
                set(&mut payload, "processed_at", Value::Null);
            }
            state.program.inbox.push_back(Input { event: id.clone(), text, outcome: None });
        }
        Sound::Outcome { goal, rubric } => {
            payload = voice::outcome(state.manner.form, &goal.id, &goal.description, &rubric, goal.max_iterations);
            state.profile.outcomes.push(json!({
                "type": "outcome_evaluation", "outcome_id": goal.id, "description": goal.description,
                "iteration": 0, "result": "pending", "explanation": null, "completed_at": null,
            }));
            let text = goal.description.clone();
            state.program.inbox.push_back(Input { event: id.clone(), text, outcome: Some(goal) });
        }
        Sound::Interrupt => {
            state.emit_as(None, &id, &kind, payload, None);
            interrupt(state);
            return echo(state, &id);
        }
        Sound::Answer { id: request, answer } => {
            if let Some(thread) = thread_of(state, &request) {
                set(&mut payload, "session_thread_id", thread.into());
            }
            state.answers.insert(request, answer);
            state.emit_as(None, &id, &kind, payload, None);
            return echo(state, &id);
        }
        Sound::Note => {}
    }
    state.emit_as(None, &id, &kind, payload, None);
    // From here on a second message meets a running turn, whenever the agent wakes up.
    if state.profile.phase == Phase::Idle && !state.program.inbox.is_empty() {
        state.profile.phase = Phase::Running;
    }
    echo(state, &id)
}

fn thread_of(state: &State, request: &str) -> Option<String> {
    state.program.pending.iter().find(|pending| pending.id == request)?.thread.clone()
}

fn set(value: &mut Value, key: &str, to: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.into(), to);
    }
}

fn echo(state: &State, id: &str) -> Value {
    state.main.find(id).map(|listed| listed.value.clone()).unwrap_or_default()
}

/// Stops the running turn; nothing happens where none runs. What waited can no longer be answered.
/// Gives whether a turn was stopped.
pub(crate) fn interrupt(state: &mut State) -> bool {
    state.program.pending.clear();
    state.program.held = None;
    state.touch();
    match &state.turn {
        Some(turn) => {
            turn.cancel.cancel();
            true
        }
        // Accepted, but not begun: it is stopped as it begins.
        None if state.profile.phase == Phase::Running => {
            state.stop_next = true;
            true
        }
        None => false,
    }
}

/// A queued message was picked up: the same event again, with its time (Claude page §5).
pub(crate) fn picked_up(state: &mut State, event: &str) {
    let Some(listed) = state.main.find(event) else { return };
    if listed.value.get("processed_at").is_some_and(Value::is_null) {
        let (at, mut value) = (now(), listed.value.clone());
        set(&mut value, "processed_at", at.clone().into());
        state.store(None, value, &at, None);
    }
}
