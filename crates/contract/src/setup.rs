//! What a session is set up with, where its server takes such a thing: which of the server's tools are on and which of
//! them run unasked, the agent's options, and the tools of this app that the agent may call.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::item::Role;

/// How a session is set up. What the server does not name is off.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct SessionSetup {
    /// The server's tools that are on.
    pub tools: Vec<ToolSetting>,
    /// The agent's options. A secret's value never stands here.
    pub options: Vec<OptionSetting>,
    /// The tools of this app that the agent may call, by name.
    pub own_tools: Vec<String>,
}

/// One of the server's tools that is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ToolSetting {
    /// Its name.
    pub name: String,
    /// Every call of it runs unasked, whatever its arguments.
    pub trusted: bool,
}

/// One option's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct OptionSetting {
    /// Its name.
    pub name: String,
    /// Its value. `None` for a secret: whether there is one is all that is told.
    pub value: Option<String>,
}

/// A secret option's value on its way to the keyring.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SecretSetting {
    /// The option's name.
    pub name: String,
    /// Its value as pasted.
    pub value: String,
}

impl std::fmt::Debug for SecretSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretSetting").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One message of a conversation that a new session begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ImportedMessage {
    /// Who said it.
    pub role: Role,
    /// Its text.
    pub text: String,
}

/// What a new session begins with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct SessionStart {
    /// How it is set up; `None` = as the server has it.
    pub setup: Option<SessionSetup>,
    /// Values of secret options: kept in the keyring for this server and agent.
    pub secrets: Vec<SecretSetting>,
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation it goes on from.
    pub imported: Vec<ImportedMessage>,
}

/// What an agent lets a new session choose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct AgentOffer {
    /// The server's tools that can be switched on and trusted. It may have others that it does not name.
    pub tools: Vec<OfferedTool>,
    /// Its options.
    pub options: Vec<AgentOption>,
    /// It may be given tools of this app.
    pub own_tools: bool,
    /// A session may begin with a system prompt and with messages of another conversation.
    pub beginnings: bool,
    /// It takes images that lie elsewhere, by their https address.
    pub image_links: bool,
    /// It takes images inside a message.
    pub image_data: bool,
}

/// One of the server's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// What it is called.
    pub title: Option<String>,
    /// What it does, in the server's words.
    pub description: Option<String>,
}

/// One of an agent's options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AgentOption {
    /// Its name.
    pub name: String,
    /// What it is called.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes.
    pub kind: AgentOptionKind,
    /// What it is where nothing is chosen; empty for a secret.
    pub default: String,
    /// A secret: one is kept in the keyring for this server and agent.
    pub kept: bool,
}

/// What an option takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentOptionKind {
    /// Text.
    Text,
    /// One of these.
    Select {
        /// The values.
        values: Vec<String>,
    },
    /// A secret: masked, kept in the keyring.
    Secret,
}

/// The tools of this app that an agent may be given, by name.
pub const OWN_TOOLS: [&str; 5] = ["ask_user", "notify_user", "open_link", "read_clipboard", "write_clipboard"];

/// A call of one of this app's own tools, read from its arguments. What cannot be read so stays a plain client tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "tool", rename_all = "snake_case")]
pub enum OwnToolCall {
    /// Shows a notification on the desktop.
    NotifyUser {
        /// Its title.
        title: String,
        /// Its text.
        body: String,
    },
    /// Opens a link in the system's browser.
    OpenLink {
        /// The address, exactly as received.
        url: String,
    },
    /// Gives the clipboard's text to the agent.
    ReadClipboard,
    /// Replaces the clipboard's text.
    WriteClipboard {
        /// The new text, in full.
        text: String,
    },
}
