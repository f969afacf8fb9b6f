//! What a payload hides and what it can do, as the app found by itself: marks and risk.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How much harm a payload can do, as far as this app can tell by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RiskClass {
    /// Only reads, and nothing that is known to be private.
    Low,
    /// Changes things within the workspace, or runs its code.
    Medium,
    /// Cannot be judged. Never shown as harmless.
    Unknown,
    /// Can lose, leak or take over something.
    High,
}

/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RiskReason {
    /// Deletes files or other things.
    Deletes,
    /// Overwrites what is there.
    Overwrites,
    /// Writes files.
    Writes,
    /// Runs code that was downloaded.
    RunsDownloaded,
    /// Downloads something.
    Downloads,
    /// Takes other rights than the agent's own.
    Elevates,
    /// Reads what is likely to be secret.
    ReadsSecrets,
    /// Sends something to another computer.
    SendsOut,
    /// Rewrites the history of a repository, or changes what its remotes have.
    TouchesGit,
    /// Reaches outside the workspace.
    LeavesWorkspace,
    /// Installs packages, or runs scripts that packages bring.
    PackageScripts,
    /// Hides what it does.
    Obfuscated,
    /// Runs code given in the command, or of the project.
    RunsCode,
    /// Changes how the computer or its programs work.
    ChangesSystem,
    /// Runs a program this app does not know.
    UnknownProgram,
    /// The command could not be read as a shell would read it.
    Unparsed,
    /// Written for a shell this app cannot read.
    UnknownShell,
    /// A tool this app does not know.
    UnknownTool,
    /// Holds characters that are not seen, or that look like others.
    Hidden,
    /// Too long to be judged.
    TooLong,
}

/// One reason, and the part of the payload that it is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
pub struct Reason {
    /// Why.
    pub reason: RiskReason,
    /// How bad this alone is.
    pub class: RiskClass,
    /// The part it is about: a command's words, a path, a host.
    pub about: String,
    /// Which segment of the command, from 0; `None` = the whole payload.
    pub segment: Option<u32>,
}

/// One command of a chain or pipeline, in the order in which it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Segment {
    /// What joins it to the one before: `|`, `&&`, `||`, `;`, `&`, `$(` for one inside another; empty for the first.
    pub joined_by: String,
    /// Its text, as it stands.
    pub text: String,
}

/// What a payload can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Risk {
    /// The worst of its reasons; `Low` where there are none.
    pub class: RiskClass,
    /// Why, worst first.
    pub reasons: Vec<Reason>,
    /// The commands of a shell payload; empty where it is none, or could not be read.
    pub segments: Vec<Segment>,
}

/// Something in a text that a reader would not see, or would take for something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Mark {
    /// What it is.
    pub kind: MarkKind,
    /// Where it begins, in characters (Unicode scalar values).
    pub from: u64,
    /// How many characters it covers.
    pub chars: u64,
}

/// What a mark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// Changes the order in which text is shown.
    Bidi,
    /// Takes no room at all.
    ZeroWidth,
    /// A tag character: invisible, and can spell whole sentences.
    Tag,
    /// Another character that is not seen.
    Invisible,
    /// A control character.
    Control,
    /// A command to a terminal.
    TerminalEscape,
    /// Looks like another letter.
    LookAlike,
    /// A long run of spaces.
    LongSpaces,
    /// A long run of blank lines.
    BlankLines,
    /// The whole payload is very long.
    VeryLong,
}
