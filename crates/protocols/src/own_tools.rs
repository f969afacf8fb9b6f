//! The tools of this app that an agent may be given: what a server is told of them, and what a call of one asks for.
//!
//! Their results are text. Nothing here is carried out: that is the app's, once the person has allowed it.

use contract::setup::{OWN_TOOLS, OwnToolCall};
use serde_json::value::RawValue;

use crate::json::{Fields, elements};

/// What a server is told of one of them: its name and its specification as JSON (`name`, `title`, `description`,
/// `parameters`), ready to be sent. `None` where this app has no such tool.
#[must_use]
pub fn specification(name: &str) -> Option<&'static str> {
    Some(match name {
        "ask_user" => ASK_USER,
        "notify_user" => NOTIFY_USER,
        "open_link" => OPEN_LINK,
        "read_clipboard" => READ_CLIPBOARD,
        "write_clipboard" => WRITE_CLIPBOARD,
        _ => return None,
    })
}

/// Whether this app has a tool of this name.
#[must_use]
pub fn is_ours(name: &str) -> bool {
    OWN_TOOLS.contains(&name)
}

const ASK_USER: &str = r#"{"name":"ask_user","title":"Ask the user","description":"Asks the user a question and waits for the answer. Use it when a decision is the user's to make. The answer is text: the chosen options, free text, or both.","parameters":{"type":"object","properties":{"question":{"type":"string","description":"The question, as the user will read it."},"options":{"type":"array","items":{"type":"string"},"description":"Answers to choose from. Leave it out for a free answer."},"multiple":{"type":"boolean","description":"Whether several options may be chosen. Default: false."}},"required":["question"],"additionalProperties":false}}"#;

const NOTIFY_USER: &str = r#"{"name":"notify_user","title":"Notify the user","description":"Shows a notification on the user's desktop, if the user agrees. Use it when something is done that the user waits for.","parameters":{"type":"object","properties":{"title":{"type":"string","description":"A few words."},"body":{"type":"string","description":"One or two sentences."}},"required":["title","body"],"additionalProperties":false}}"#;

const OPEN_LINK: &str = r#"{"name":"open_link","title":"Open a link","description":"Opens a web address in the user's browser, if the user agrees.","parameters":{"type":"object","properties":{"url":{"type":"string","description":"The whole address: http, https or mailto."}},"required":["url"],"additionalProperties":false}}"#;

const READ_CLIPBOARD: &str = r#"{"name":"read_clipboard","title":"Read the clipboard","description":"Gives the text on the user's clipboard. The user is asked every time.","parameters":{"type":"object","properties":{},"additionalProperties":false}}"#;

const WRITE_CLIPBOARD: &str = r#"{"name":"write_clipboard","title":"Write to the clipboard","description":"Replaces what is on the user's clipboard by a text. The user is asked every time.","parameters":{"type":"object","properties":{"text":{"type":"string","description":"The new text, in full."}},"required":["text"],"additionalProperties":false}}"#;

/// What a call of one of them asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Called {
    /// Something this app does.
    Do(OwnToolCall),
    /// A question to the person.
    Ask { question: String, options: Vec<String>, multiple: bool },
}

/// Reads a call's arguments (raw JSON). `None` where they are not what the specification says: then the call is shown
/// as it came, and the person says what becomes of it.
pub(crate) fn read(name: &str, arguments: &str) -> Option<Called> {
    let fields = Fields::read(arguments).ok()?;
    // A name that stands twice, or one that is not known, may mean something else to its sender.
    let only = |names: &[&str]| fields.names().all(|name| names.contains(&name) && fields.count(name) == 1);
    let text = |name: &str| fields.text(name).map(std::borrow::Cow::into_owned);
    Some(match name {
        "ask_user" if only(&["question", "options", "multiple"]) => Called::Ask {
            question: text("question").filter(|question| !question.trim().is_empty())?,
            options: options(&fields)?,
            multiple: match fields.raw("multiple") {
                None => false,
                Some(_) => fields.flag("multiple")?,
            },
        },
        "notify_user" if only(&["title", "body"]) => {
            Called::Do(OwnToolCall::NotifyUser { title: text("title")?, body: text("body")? })
        }
        "open_link" if only(&["url"]) => Called::Do(OwnToolCall::OpenLink { url: text("url")? }),
        "read_clipboard" if only(&[]) => Called::Do(OwnToolCall::ReadClipboard),
        "write_clipboard" if only(&["text"]) => Called::Do(OwnToolCall::WriteClipboard { text: text("text")? }),
        _ => return None,
    })
}

/// The options of a question: all of them texts, or the arguments are not what was agreed.
fn options(fields: &Fields<'_>) -> Option<Vec<String>> {
    let Some(raw) = fields.raw("options") else { return Some(Vec::new()) };
    if !raw.starts_with('[') {
        return None;
    }
    let texts = fields.texts("options");
    (texts.len() == elements(raw).len()).then_some(texts)
}

/// The specifications of these tools, as they are sent; names this app does not know are left out.
pub(crate) fn specifications(names: &[String]) -> Vec<Box<RawValue>> {
    names.iter().filter_map(|name| RawValue::from_string(specification(name)?.to_owned()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_tool_of_this_app_says_its_name_what_it_does_and_what_it_takes() {
        for name in OWN_TOOLS {
            let spec: Value = serde_json::from_str(specification(name).unwrap()).unwrap();
            assert_eq!(spec["name"], name);
            assert!(spec["description"].as_str().is_some_and(|words| !words.is_empty()));
            assert_eq!(spec["parameters"]["type"], "object");
            let properties = spec["parameters"]["properties"].as_object().unwrap();
            for required in spec["parameters"]["required"].as_array().into_iter().flatten() {
                assert!(properties.contains_key(required.as_str().unwrap()), "{name} {required}");
            }
        }
        assert_eq!(specification("rm"), None);
        assert!(is_ours("ask_user") && !is_ours("ghost"));
    }

    #[test]
    fn calls_are_read_as_their_specification_says() {
        assert_eq!(
            read("ask_user", r#"{"question":"Which?","options":["a","b"],"multiple":true}"#),
            Some(Called::Ask { question: "Which?".into(), options: vec!["a".into(), "b".into()], multiple: true })
        );
        assert_eq!(
            read("ask_user", r#"{"question":"Why?"}"#),
            Some(Called::Ask { question: "Why?".into(), options: Vec::new(), multiple: false })
        );
        assert_eq!(
            read("notify_user", r#"{"title":"Done","body":"All of it."}"#),
            Some(Called::Do(OwnToolCall::NotifyUser { title: "Done".into(), body: "All of it.".into() }))
        );
        assert_eq!(
            read("open_link", r#"{"url":"https://example.test/a?b"}"#),
            Some(Called::Do(OwnToolCall::OpenLink { url: "https://example.test/a?b".into() }))
        );
        assert_eq!(read("read_clipboard", "{}"), Some(Called::Do(OwnToolCall::ReadClipboard)));
        assert_eq!(
            read("write_clipboard", r#"{"text":""}"#),
            Some(Called::Do(OwnToolCall::WriteClipboard { text: String::new() }))
        );
    }

    #[test]
    fn arguments_that_say_anything_else_are_not_carried_out() {
        for (name, arguments) in [
            ("ask_user", r#"{"question":" "}"#),
            ("ask_user", r#"{"question":"a","options":["x",1]}"#),
            ("ask_user", r#"{"question":"a","options":"x"}"#),
            ("ask_user", r#"{"question":"a","multiple":"yes"}"#),
            ("notify_user", r#"{"title":"a"}"#),
            ("open_link", r#"{"url":"https://a.test","url":"https://b.test"}"#),
            ("open_link", r#"{"url":7}"#),
            ("read_clipboard", r#"{"selection":true}"#),
            ("read_clipboard", "[]"),
            ("write_clipboard", r#"{"text":null}"#),
            ("ghost", "{}"),
        ] {
            assert_eq!(read(name, arguments), None, "{name} {arguments}");
        }
    }

    #[test]
    fn only_tools_of_this_app_are_declared() {
        let names = ["read_clipboard".to_owned(), "rm".to_owned()];
        let sent: Vec<String> = specifications(&names).iter().map(|raw| raw.get().to_owned()).collect();
        assert_eq!(sent, [specification("read_clipboard").unwrap()]);
    }
}
