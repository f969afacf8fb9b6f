//! Text and thinking, in every dialect of streaming (wire page §8).

use serde_json::json;

use super::pause;
use crate::{
    Text,
    journal::{Piece, Previewed},
    manner::FLUSH_MS,
    session::{Cell, State},
    voice,
};

/// Cuts text into pieces of about a word (four characters where there are no spaces), as models do.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    for letter in text.chars() {
        piece.push(letter);
        let wide = piece.chars().filter(|letter| !letter.is_ascii()).count() >= 4;
        if wide || (piece.len() >= 6 && letter.is_ascii_whitespace()) || piece.len() >= 24 {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

fn filled(state: &State, text: &str) -> String {
    text.replace("{message}", &state.program.message).replace("{answer}", &state.program.answer)
}

fn count(state: &mut State, text: &str) {
    if let Some(turn) = &mut state.turn {
        turn.span_output += text.len() as u64;
    }
}

/// Says a text.
pub(crate) async fn say(cell: &Cell, thread: Option<&str>, text: &str, delta_ms: u64) {
    let (text, dialect, id) = cell.change(|state| {
        state.open_span(thread);
        let text = filled(state, text);
        count(state, &text);
        (text, state.manner.text, state.event_id())
    });
    if text.is_empty() {
        return;
    }
    match dialect {
        Text::Plain => {
            pause(cell, delta_ms).await;
            whole(cell, thread, &id, &text, None);
        }
        Text::Preview => previewed(cell, thread, &id, &text, delta_ms).await,
        Text::Flag => flagged(cell, thread, &id, &text, delta_ms).await,
        Text::Repeat => repeated(cell, thread, &text, delta_ms).await,
        Text::Incremental => incremental(cell, thread, &id, &text, delta_ms).await,
    }
}

fn whole(cell: &Cell, thread: Option<&str>, id: &str, text: &str, message_id: Option<&str>) {
    cell.change(|state| {
        let mut payload = json!({"content": voice::blocks(text)});
        if let (Some(fields), Some(message_id)) = (payload.as_object_mut(), message_id) {
            fields.insert("message_id".into(), message_id.into());
        }
        state.emit_as(thread, id, "agent.message", payload, None);
    });
}

async fn previewed(cell: &Cell, thread: Option<&str>, id: &str, text: &str, delta_ms: u64) {
    cell.change(|state| {
        let start = json!({"type": "event_start", "event": {"id": id, "type": "agent.message"}});
        state.journal(thread).preview(id, Previewed::Message, &start);
    });
    for piece in pieces(text) {
        pause(cell, delta_ms).await;
        cell.change(|state| {
            let delta = json!({"type": "event_delta", "event_id": id, "delta": {
                "type": "content_delta", "index": 0, "content": {"type": "text", "text": piece}}});
            state.journal(thread).preview(id, Previewed::Message, &delta);
        });
    }
    pause(cell, delta_ms).await;
    whole(cell, thread, id, text, None);
}

async fn flagged(cell: &Cell, thread: Option<&str>, id: &str, text: &str, delta_ms: u64) {
    for piece in pieces(text) {
        pause(cell, delta_ms).await;
        cell.change(|state| {
            let delta = json!({"content": piece, "delta": true});
            state.journal(thread).flag(id, "agent.message", &delta);
        });
    }
    pause(cell, delta_ms).await;
    whole(cell, thread, id, text, None);
}

/// What streams merge by default is persisted merged, so that lists and streams show the same events.
async fn repeated(cell: &Cell, thread: Option<&str>, text: &str, delta_ms: u64) {
    let mut batch = String::new();
    let pieces = pieces(text);
    for (place, text) in (0_u64..).zip(&pieces) {
        pause(cell, delta_ms).await;
        batch.push_str(text);
        let (at_ms, next_ms) = (place * delta_ms, (place + 1) * delta_ms);
        let is_last = place + 1 == pieces.len() as u64;
        if !is_last && next_ms > 0 && at_ms / FLUSH_MS == next_ms / FLUSH_MS {
            continue;
        }
        let text = std::mem::take(&mut batch);
        cell.change(|state| {
            let id = state.event_id();
            let payload = json!({"content": voice::blocks(&text)});
            state.emit_as(thread, &id, "agent.message", payload, Some(Piece { at_ms, text }));
        });
    }
}

async fn incremental(cell: &Cell, thread: Option<&str>, id: &str, text: &str, delta_ms: u64) {
    let message = cell.change(|state| open_message(state, thread, &json!({"type": "text", "text": ""})));
    for piece in pieces(text) {
        pause(cell, delta_ms).await;
        cell.change(|state| block_delta(state, thread, &message, &json!({"type": "text_delta", "text": piece})));
    }
    cell.change(|state| close_message(state, thread, &message, "end_turn"));
    whole(cell, thread, id, text, Some(&message));
}

/// D2: opens a message with one block, and gives the message's id.
pub(crate) fn open_message(state: &mut State, thread: Option<&str>, block: &serde_json::Value) -> String {
    let message = state.id("msg");
    let start = json!({"message": {"id": message, "type": "message", "role": "assistant", "content": []}});
    chunk(state, thread, "agent.message_start", &message, start);
    let block = json!({"index": 0, "content_block": block});
    chunk(state, thread, "agent.content_block_start", &message, block);
    message
}

/// D2: a piece of the open block.
pub(crate) fn block_delta(state: &mut State, thread: Option<&str>, message: &str, delta: &serde_json::Value) {
    chunk(state, thread, "agent.content_block_delta", message, json!({"index": 0, "delta": delta}));
}

/// D2: closes the block and the message.
pub(crate) fn close_message(state: &mut State, thread: Option<&str>, message: &str, reason: &str) {
    chunk(state, thread, "agent.content_block_stop", message, json!({"index": 0}));
    chunk(state, thread, "agent.message_delta", message, json!({"delta": {"stop_reason": reason}}));
    chunk(state, thread, "agent.message_stop", message, json!({}));
}

fn chunk(state: &mut State, thread: Option<&str>, kind: &str, message: &str, mut payload: serde_json::Value) {
    let turn = state.turn.as_ref().map(|turn| turn.id.clone());
    if let Some(fields) = payload.as_object_mut() {
        fields.insert("message_id".into(), message.into());
        fields.insert("turn_id".into(), turn.into());
        fields.insert("session_thread_id".into(), thread.into());
        fields.insert("parent_tool_use_id".into(), serde_json::Value::Null);
    }
    state.emit(thread, kind, payload);
}

/// Thinks.
pub(crate) async fn think(cell: &Cell, thread: Option<&str>, text: &str, ms: u64) {
    let (dialect, form, id) = cell.change(|state| {
        state.open_span(thread);
        count(state, text);
        (state.manner.text, state.manner.form, state.event_id())
    });
    match dialect {
        Text::Incremental => {
            let message =
                cell.change(|state| open_message(state, thread, &json!({"type": "thinking", "thinking": ""})));
            let pieces = pieces(text);
            let each = ms / (pieces.len() as u64).max(1);
            for piece in pieces {
                pause(cell, each).await;
                let delta = json!({"type": "thinking_delta", "thinking": piece});
                cell.change(|state| block_delta(state, thread, &message, &delta));
            }
            cell.change(|state| {
                close_message(state, thread, &message, "end_turn");
                let mut payload = voice::thinking(form, true, text);
                if let Some(fields) = payload.as_object_mut() {
                    fields.insert("message_id".into(), message.into());
                }
                state.emit_as(thread, &id, "agent.thinking", payload, None);
            });
        }
        Text::Preview => {
            // A thinking preview is a start and nothing more (§8).
            cell.change(|state| {
                let start = json!({"type": "event_start", "event": {"id": id, "type": "agent.thinking"}});
                state.journal(thread).preview(&id, Previewed::Thinking, &start);
            });
            pause(cell, ms).await;
            cell.change(|state| state.emit_as(thread, &id, "agent.thinking", voice::thinking(form, false, text), None));
        }
        Text::Plain | Text::Flag | Text::Repeat => {
            pause(cell, ms).await;
            cell.change(|state| state.emit_as(thread, &id, "agent.thinking", voice::thinking(form, false, text), None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_text_and_split_no_character() {
        for text in
            ["", "one", "A sentence with several words.", "东京今天有雨，最高气温十八度。", "mixed 东京 and latin"]
        {
            assert_eq!(pieces(text).concat(), text);
        }
        assert!(pieces("A sentence with several words.").len() >= 3);
        assert!(pieces("东京今天有雨，最高气温十八度。").len() >= 3);
    }
}
