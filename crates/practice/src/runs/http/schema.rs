//! Request bodies and their refusals (§2 to §4): a body the schema refuses is a 422 that names each field, what means
//! nothing is a 400.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{Refused, Reply};
use crate::runs::shape::Picture;

/// How a run answers the commands the model wants to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Deny,
    Auto,
    Commands,
    Ask,
}

/// What every run is told (§4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunOptions {
    pub(crate) mode: Mode,
    pub(crate) commands: Vec<String>,
    pub(crate) asks_questions: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) answer_timeout: Duration,
}

/// What a prompt carries besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) pictures: Vec<Picture>,
    pub(crate) options: RunOptions,
}

const SHELL: &[char] = &[';', '|', '&', '<', '>', '`', '$', '(', ')', '\n', '\\'];
const MEDIA: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

impl RunOptions {
    /// The listed commands allow this one: it is one of them, or one of them with arguments.
    pub(crate) fn allows(&self, command: &str) -> bool {
        let command = command.trim();
        !command.contains(SHELL)
            && self.commands.iter().map(|known| known.trim()).any(|known| {
                command.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
            })
    }

    /// Refuses what cannot run while a status is still possible.
    fn prepared(&self) -> Result<(), Refused> {
        if self.mode == Mode::Commands {
            for command in &self.commands {
                if command.trim().is_empty() {
                    return Err(Refused::invalid("A command to allow must not be blank"));
                }
                if command.contains(SHELL) {
                    let why = "holds a shell character; allow the plain command and not a pipeline";
                    return Err(Refused::invalid(format!("'{command}' {why}")));
                }
            }
        }
        Ok(())
    }
}

impl Prompt {
    /// Refuses what cannot run while a status is still possible.
    pub(crate) fn prepared(&self) -> Result<(), Refused> {
        self.options.prepared()?;
        pictures_are_fine(&self.pictures)
    }
}

/// Pictures are base64 and of a type models take.
pub(crate) fn pictures_are_fine(pictures: &[Picture]) -> Result<(), Refused> {
    for picture in pictures {
        if !is_base64(&picture.data) {
            return Err(Refused::invalid("The image data is not valid base64: Only base64 data is allowed"));
        }
        if !MEDIA.contains(&picture.media_type.as_str()) {
            let kinds = MEDIA.join(", ");
            return Err(Refused::invalid(format!(
                "Unsupported image type '{}'; use one of: {kinds}",
                picture.media_type
            )));
        }
    }
    Ok(())
}

fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - bare.len() <= 2
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// A body's fields, and what is wrong with them.
pub(crate) struct Fields {
    fields: Map<String, Value>,
    problems: Vec<String>,
}

impl Fields {
    /// Reads a body. Where it may be missing, nothing is an empty object.
    pub(crate) fn of(body: &Bytes, may_be_missing: bool) -> Result<Self, Refused> {
        if may_be_missing && body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self { fields: Map::new(), problems: Vec::new() });
        }
        let refused = |problem: &str| Refused::new(422, "invalid", problem);
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self { fields, problems: Vec::new() }),
            Ok(Value::Null) if may_be_missing => Ok(Self { fields: Map::new(), problems: Vec::new() }),
            Ok(_) => Err(refused(": Input should be a valid dictionary or object to extract fields from")),
            Err(_) if body.is_empty() => Err(refused(": Field required")),
            Err(_) => Err(refused("0: JSON decode error")),
        }
    }

    /// Something is wrong with a field.
    pub(crate) fn refuse(&mut self, field: &str, problem: &str) {
        self.problems.push(format!("{field}: {problem}"));
    }

    /// The field as it is; `null` counts.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name)
    }

    /// A text of 1 to `most` characters that must be there.
    pub(crate) fn text(&mut self, name: &str, most: usize) -> String {
        match self.take(name) {
            None => self.refuse(name, "Field required"),
            Some(Value::String(text)) if text.is_empty() => {
                self.refuse(name, "String should have at least 1 character");
            }
            Some(Value::String(text)) if text.chars().count() > most => {
                self.refuse(name, &format!("String should have at most {most} characters"));
            }
            Some(Value::String(text)) => return text,
            Some(_) => self.refuse(name, "Input should be a valid string"),
        }
        String::new()
    }

    /// A text that may be missing or null.
    pub(crate) fn text_or_null(&mut self, name: &str) -> Option<String> {
        match self.take(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.refuse(name, "Input should be a valid string");
                None
            }
        }
    }

    /// `true` or `false` and nothing that looks like it. `None` where it may be missing and is.
    pub(crate) fn strict_bool(&mut self, name: &str, required: bool) -> Option<bool> {
        match self.take(name) {
            None if required => self.refuse(name, "Field required"),
            None => {}
            Some(Value::Bool(value)) => return Some(value),
            Some(_) => self.refuse(name, "Input should be a valid boolean"),
        }
        None
    }

    /// A switch, also in the looser writings.
    pub(crate) fn bool(&mut self, name: &str, default: bool) -> bool {
        match self.take(name) {
            None => default,
            Some(Value::Bool(value)) => value,
            Some(Value::String(word)) if matches!(word.as_str(), "true" | "false") => word == "true",
            Some(Value::Number(number)) if matches!(number.as_u64(), Some(0 | 1)) => number.as_u64() == Some(1),
            Some(_) => {
                self.refuse(name, "Input should be a valid boolean");
                default
            }
        }
    }

    /// Seconds above 0 and, where there is one, up to a limit.
    pub(crate) fn seconds(&mut self, name: &str, most: Option<f64>, nullable: bool) -> Option<Duration> {
        let value = match self.take(name) {
            None => return None,
            Some(Value::Null) if nullable => return None,
            Some(value) => value.as_f64(),
        };
        match value {
            None => self.refuse(name, "Input should be a valid number"),
            Some(value) if value <= 0.0 => self.refuse(name, "Input should be greater than 0"),
            Some(value) if most.is_some_and(|most| value > most) => {
                self.refuse(name, &format!("Input should be less than or equal to {}", most.unwrap_or_default()));
            }
            Some(value) => return Duration::try_from_secs_f64(value).ok(),
        }
        None
    }

    fn options(&mut self) -> RunOptions {
        let (mut mode, mut commands) = (Mode::Deny, Vec::new());
        match self.take("approvals") {
            None => {}
            Some(Value::Object(policy)) => {
                match policy.get("mode").map_or(Some("deny"), Value::as_str) {
                    Some("deny") => {}
                    Some("auto") => mode = Mode::Auto,
                    Some("commands") => mode = Mode::Commands,
                    Some("ask") => mode = Mode::Ask,
                    _ => self.refuse("approvals.mode", "Input should be 'deny', 'auto', 'commands' or 'ask'"),
                }
                let listed = policy.get("commands").cloned().unwrap_or(Value::Array(Vec::new()));
                match serde_json::from_value(listed) {
                    Ok(listed) => commands = listed,
                    Err(_) => self.refuse("approvals.commands", "Input should be a valid list"),
                }
            }
            Some(_) => self.refuse("approvals", "Input should be a valid dictionary or object to extract fields from"),
        }
        let asks_questions = match self.take("questions") {
            None => false,
            Some(Value::String(word)) if word == "ask" || word == "decline" => word == "ask",
            Some(_) => {
                self.refuse("questions", "Input should be 'ask' or 'decline'");
                false
            }
        };
        let timeout = self.seconds("timeout", None, true);
        let answer_timeout = self.seconds("answer_timeout", Some(3600.0), false).unwrap_or(Duration::from_secs(300));
        self.bool("keep_events", false);
        RunOptions { mode, commands, asks_questions, timeout, answer_timeout }
    }

    /// The pictures of a message.
    pub(crate) fn pictures(&mut self) -> Vec<Picture> {
        let listed = self.take("images").unwrap_or(Value::Array(Vec::new()));
        match serde_json::from_value(listed) {
            Ok(pictures) => pictures,
            Err(_) => {
                self.refuse("images", "Input should be a list of {data, media_type}");
                Vec::new()
            }
        }
    }

    /// Unknown fields are refused where the schema forbids them; elsewhere they are passed over in silence.
    pub(crate) fn forbid_others(&mut self) {
        for name in std::mem::take(&mut self.fields).into_iter().map(|(name, _)| name) {
            self.refuse(&name, "Extra inputs are not permitted");
        }
    }

    /// The refusal, if there was anything wrong.
    pub(crate) fn done(self) -> Result<(), Refused> {
        if self.problems.is_empty() { Ok(()) } else { Err(Refused::new(422, "invalid", self.problems.join("; "))) }
    }
}

/// A `POST /prompts` body.
pub(crate) fn prompt(body: &Bytes) -> Result<Prompt, Refused> {
    let mut fields = Fields::of(body, false)?;
    let options = fields.options();
    let text = fields.text("text", usize::MAX);
    let pictures = fields.pictures();
    fields.bool("mentions", true);
    fields.done()?;
    Ok(Prompt { text, pictures, options })
}

/// A `POST /runs/resume` body.
pub(crate) fn resume(body: &Bytes) -> Result<RunOptions, Refused> {
    let mut fields = Fields::of(body, false)?;
    let options = fields.options();
    fields.done()?;
    options.prepared()?;
    Ok(options)
}

/// A side question.
pub(crate) fn side_question(body: &Bytes) -> Result<(String, RunOptions), Refused> {
    let mut fields = Fields::of(body, false)?;
    let question = fields.text("question", usize::MAX);
    let timeout = fields.seconds("timeout", None, true);
    fields.done()?;
    let options = RunOptions {
        mode: Mode::Deny,
        commands: Vec::new(),
        asks_questions: false,
        timeout,
        answer_timeout: Duration::from_secs(300),
    };
    Ok((question, options))
}

/// A number of a query within its bounds.
pub(crate) fn bounded(pairs: &crate::http::Pairs, name: &str, default: usize) -> Result<usize, Refused> {
    let refused = |problem: &str| Refused::new(422, "invalid", format!("{name}: {problem}"));
    let Some(text) = crate::http::first(pairs, name) else { return Ok(default) };
    let number: i64 = text.parse().map_err(|_| refused("Input should be a valid integer"))?;
    match number {
        ..1 => Err(refused("Input should be greater than or equal to 1")),
        201.. => Err(refused("Input should be less than or equal to 200")),
        number => Ok(usize::try_from(number).unwrap_or(default)),
    }
}

/// What an endpoint says that needs a model and has none.
pub(crate) fn ready(desk: &crate::runs::desk::Desk) -> Result<(), Refused> {
    if desk.model.is_some() { Ok(()) } else { Err(Refused::no_model()) }
}

/// An endpoint's answer with its status.
pub(crate) fn with_status(status: u16, reply: Reply) -> Reply {
    let mut response = reply?;
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::OK);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn refused(body: &str) -> (u16, String) {
        let refused = prompt(&Bytes::copy_from_slice(body.as_bytes())).unwrap_err();
        (refused.status, refused.message)
    }

    #[test]
    fn each_wrong_field_is_named() {
        assert_eq!(refused("{}"), (422, "text: Field required".into()));
        assert_eq!(refused(r#"{"text":""}"#).1, "text: String should have at least 1 character");
        assert_eq!(
            refused(r#"{"text":"x","timeout":-1,"answer_timeout":4000}"#).1,
            "timeout: Input should be greater than 0; answer_timeout: Input should be less than or equal to 3600"
        );
        assert_eq!(
            refused(r#"{"text":"x","approvals":{"mode":"maybe"}}"#).1,
            "approvals.mode: Input should be 'deny', 'auto', 'commands' or 'ask'"
        );
        assert_eq!(refused("nothing"), (422, "0: JSON decode error".into()));
    }

    #[test]
    fn a_prompt_that_says_nothing_else_denies_and_declines() {
        let read = prompt(&Bytes::from_static(br#"{"text":"hi","session_id":"ignored"}"#)).unwrap();
        assert_eq!((read.options.mode, read.options.asks_questions), (Mode::Deny, false));
        assert_eq!(read.options.answer_timeout, Duration::from_secs(300));
    }

    #[test]
    fn a_listed_command_allows_itself_and_itself_with_arguments_and_no_pipeline() {
        let body = br#"{"text":"x","approvals":{"mode":"commands","commands":["git status"]}}"#;
        let options = prompt(&Bytes::from_static(body)).unwrap().options;
        let allowed = ["git status", "git status -s"].map(|command| options.allows(command));
        let refused = ["git", "git statuses", "git status; rm -rf ~", "git status | sh", "ls"];
        assert_eq!(allowed, [true, true]);
        assert_eq!(refused.map(|command| options.allows(command)), [false; 5]);
    }

    #[test]
    fn pictures_are_base64_of_a_known_type() {
        let picture = |data: &str, kind: &str| [Picture { data: data.into(), media_type: kind.into() }];
        assert!(pictures_are_fine(&picture("iVBORw0KGgo=", "image/png")).is_ok());
        assert_eq!(pictures_are_fine(&picture("%%%", "image/png")).unwrap_err().status, 400);
        assert_eq!(pictures_are_fine(&picture("iVBORw0KGgo=", "text/plain")).unwrap_err().status, 400);
    }
}
