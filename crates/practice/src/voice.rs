//! The shapes of events, per age of the wire (wire page §7, the table's "⇒" forms, and the Claude page §6).
//! Pure: values in, JSON out.

use serde_json::{Map, Value, json};

use crate::{Form, scenario::Retry};

/// What every event of a turn shares.
pub(crate) struct Envelope<'a> {
    pub(crate) form: Form,
    pub(crate) id: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) session: &'a str,
    pub(crate) turn: Option<&'a str>,
    pub(crate) at: &'a str,
}

/// The whole event.
pub(crate) fn event(envelope: &Envelope<'_>, payload: Value) -> Value {
    let mut event = match payload {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    event.insert("id".into(), envelope.id.into());
    event.insert("type".into(), envelope.kind.into());
    event.entry("processed_at").or_insert_with(|| envelope.at.into());
    if envelope.form == Form::Seed {
        event.insert("session_id".into(), envelope.session.into());
        event.insert("created_at".into(), envelope.at.into());
        event.insert("schema_version".into(), "1.0".into());
        // The seed page: define_outcome has no turn_id.
        if let Some(turn) = envelope.turn.filter(|_| envelope.kind != "user.define_outcome") {
            event.insert("turn_id".into(), turn.into());
        }
    }
    Value::Object(event)
}

/// Text blocks.
pub(crate) fn blocks(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// `session.status_running`.
pub(crate) fn running(form: Form) -> Value {
    match form {
        Form::Seed => json!({"status": "running"}),
        Form::Newest | Form::Claude => json!({}),
    }
}

/// Tokens of a model request or of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
    /// What a sum of requests cost, in hundredths of a credit; 0 for a single request.
    #[serde(default)]
    pub(crate) charged: u64,
}

impl Tokens {
    pub(crate) fn add(&mut self, more: Self) {
        self.charged += more.centicredits();
        self.input += more.input;
        self.output += more.output;
        self.cached += more.cached;
    }

    /// Whole hundredths of a credit. A sum costs exactly what its requests cost.
    pub(crate) fn centicredits(self) -> u64 {
        if self.charged > 0 { self.charged } else { (self.input + 5 * self.output) / 100 }
    }

    pub(crate) fn json(self) -> Value {
        json!({"input_tokens": self.input, "output_tokens": self.output,
               "cache_read_input_tokens": self.cached, "cache_creation_input_tokens": 0})
    }
}

/// A number of hundredths as JSON, without the noise of binary fractions.
pub(crate) fn hundredths(count: u64) -> Value {
    format!("{}.{:02}", count / 100, count % 100).parse::<f64>().map_or(Value::Null, Value::from)
}

/// `session.status_idle`.
pub(crate) fn idle(form: Form, reason: &str, waiting: &[String], tokens: Tokens) -> Value {
    let word = match (reason, form) {
        ("cancelled", Form::Seed) => "cancel",
        // No cancel reason is documented there (Claude page §6).
        ("cancelled", Form::Claude) => "end_turn",
        ("retries_exhausted", Form::Seed) => "error",
        (word, _) => word,
    };
    let mut stop = json!({"type": word});
    if reason == "requires_action"
        && let Some(stop) = stop.as_object_mut()
    {
        stop.insert("event_ids".into(), waiting.into());
    }
    match form {
        Form::Newest => json!({"stop_reason": stop}),
        Form::Claude => json!({"stop_reason": stop, "stop_details": null}),
        Form::Seed if reason == "requires_action" => json!({"status": "idle", "stop_reason": stop}),
        Form::Seed => json!({"status": "idle", "stop_reason": stop, "usage": tokens.json()}),
    }
}

/// `span.model_request_start`.
pub(crate) fn span_start(form: Form, span: &str) -> Value {
    match form {
        Form::Seed => json!({"model": "practice-1", "span_id": span}),
        Form::Newest | Form::Claude => json!({}),
    }
}

/// `span.model_request_end`.
pub(crate) fn span_end(form: Form, span: &str, start: &str, failed: bool, tokens: Tokens) -> Value {
    match form {
        Form::Seed => json!({"span_id": span, "usage": tokens.json()}),
        Form::Newest => json!({"model_request_start_id": start, "is_error": failed,
                               "model_usage": {"credits": hundredths(tokens.centicredits())}}),
        Form::Claude => json!({"model_request_start_id": start, "is_error": failed, "model_usage": tokens.json()}),
    }
}

/// `agent.thinking`.
pub(crate) fn thinking(form: Form, shows_text: bool, text: &str) -> Value {
    if form == Form::Seed || shows_text { json!({"thinking": text}) } else { json!({}) }
}

/// `agent.tool_use` and its siblings.
pub(crate) fn tool_use(form: Form, name: &str, input: &Value, asks: bool, mcp_server: Option<&str>) -> Value {
    let name = if form == Form::Claude && mcp_server.is_none() { name.to_lowercase() } else { name.to_owned() };
    let permission = if asks { "ask" } else { "allow" };
    let mut payload = json!({"name": name, "input": input, "evaluated_permission": permission});
    if let Some(payload) = payload.as_object_mut() {
        if form == Form::Claude {
            payload.insert("evaluation".into(), json!({"type": if asks { "always_ask" } else { "always_allow" }}));
        }
        if let Some(server) = mcp_server {
            payload.insert("mcp_server_name".into(), server.into());
        }
    }
    payload
}

/// `agent.tool_result`. The seed page names the tool and gives an id of the model's own (§13, row 12).
pub(crate) fn tool_result(form: Form, name: &str, use_id: &str, text: &str, failed: bool, mcp: bool) -> Value {
    if mcp {
        return json!({"mcp_tool_use_id": use_id, "content": blocks(text), "is_error": failed});
    }
    match form {
        Form::Seed => {
            let own: String = use_id.chars().rev().take(12).collect();
            json!({"name": name, "tool_use_id": format!("toolu_bdrk_01{own}"), "content": blocks(text), "is_error": failed})
        }
        Form::Newest | Form::Claude => json!({"tool_use_id": use_id, "content": blocks(text), "is_error": failed}),
    }
}

/// `session.error`, in both shapes.
pub(crate) fn error(form: Form, kind: &str, message: &str, retry: Retry) -> Value {
    match form {
        Form::Seed => json!({"error": message, "code": kind}),
        Form::Newest | Form::Claude => {
            let retry = match retry {
                Retry::Retrying => "retrying",
                Retry::Exhausted => "exhausted",
                Retry::Terminal => "terminal",
            };
            json!({"error": {"type": kind, "message": message, "retry_status": {"type": retry}}})
        }
    }
}

/// The last event of a session, in both spellings.
pub(crate) fn terminated(form: Form, reason: &str) -> (&'static str, Value) {
    match form {
        Form::Seed => ("terminated", json!({"reason": reason})),
        Form::Newest | Form::Claude => ("session.status_terminated", json!({})),
    }
}

/// `user.define_outcome` as it is echoed.
pub(crate) fn outcome(form: Form, id: &str, description: &str, rubric: &Value, max_iterations: u64) -> Value {
    match form {
        Form::Seed => json!({"outcome": description}),
        Form::Newest | Form::Claude => json!({"description": description, "rubric": rubric,
                                              "max_iterations": max_iterations, "outcome_id": id}),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn envelope(form: Form, kind: &'static str) -> Envelope<'static> {
        Envelope { form, id: "evt_1", kind, session: "sess_1", turn: Some("turn_1"), at: "2026-01-01T00:00:00Z" }
    }

    #[test]
    fn seed_events_carry_the_common_fields_and_outcomes_no_turn() {
        let message = event(&envelope(Form::Seed, "agent.message"), json!({"content": blocks("Hi")}));
        assert_eq!(
            message,
            json!({"id": "evt_1", "type": "agent.message", "turn_id": "turn_1", "session_id": "sess_1",
                   "created_at": "2026-01-01T00:00:00Z", "processed_at": "2026-01-01T00:00:00Z",
                   "schema_version": "1.0", "content": [{"type": "text", "text": "Hi"}]})
        );
        assert_eq!(event(&envelope(Form::Seed, "user.define_outcome"), json!({})).get("turn_id"), None);
        let claude = event(&envelope(Form::Claude, "agent.message"), json!({}));
        assert_eq!(claude.as_object().unwrap().len(), 3);
    }

    #[test]
    fn an_idle_that_waits_names_the_events_and_a_stop_is_spelt_per_age() {
        let waiting = ["evt_2".to_owned()];
        let idle_of = |form, reason| idle(form, reason, &waiting, Tokens::default());
        assert_eq!(
            idle_of(Form::Newest, "requires_action"),
            json!({"stop_reason": {"type": "requires_action", "event_ids": ["evt_2"]}})
        );
        assert_eq!(idle_of(Form::Seed, "cancelled")["stop_reason"], json!({"type": "cancel"}));
        assert_eq!(idle_of(Form::Claude, "cancelled")["stop_reason"], json!({"type": "end_turn"}));
        assert_eq!(idle_of(Form::Seed, "end_turn")["usage"]["cache_creation_input_tokens"], 0);
    }

    #[test]
    fn credits_have_two_decimals() {
        let mut sum = Tokens::default();
        for _ in 0..3 {
            sum.add(Tokens { input: 150, ..Tokens::default() });
        }
        assert_eq!(sum.centicredits(), 3, "the session costs what its requests cost");
        assert_eq!(hundredths(463).to_string(), "4.63");
        assert_eq!(
            hundredths(Tokens { input: 1000, output: 10, ..Tokens::default() }.centicredits()).to_string(),
            "0.1"
        );
    }
}
