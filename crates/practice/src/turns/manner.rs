//! The switches of the `turns` side: which version it speaks, what it offers, and which faults of the real server it has.

use serde::{Deserialize, Serialize};

/// Which version of the page it speaks (§0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TurnsVersion {
    /// The released one (§2).
    #[default]
    #[serde(rename = "v3")]
    V3,
    /// The unreleased draft under the same number (§3).
    #[serde(rename = "v3-revised")]
    V3Revised,
    /// Inputs and one event stream (§4).
    #[serde(rename = "v4")]
    V4,
}

/// What `Location` names after a session was created (§3 and §4).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnsLocation {
    /// As the version says: a path in v3-revised, an absolute address at the same origin in v4.
    #[default]
    Usual,
    /// A path.
    Relative,
    /// An absolute address at the origin the request came to.
    Absolute,
    /// An absolute address at another port of this server, which serves the same sessions.
    OtherOrigin,
    /// This text, then `/sessions/` and the id: any origin and any scheme.
    Prefix {
        /// The text.
        text: String,
    },
}

/// When events join the history, which is when a new stream no longer repeats them (§4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnsFold {
    /// Once a step of the agent is over.
    #[default]
    Step,
    /// Once nothing is left to do.
    Idle,
}

/// What the reference server was seen to do wrong (§7). All off: it does as the page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnsFaults {
    /// Streams of turns end cleanly without `turn_stop` (§7.3).
    pub no_turn_stop: bool,
    /// In message mode everything behind `turn_start` is lost (§7.3).
    pub lose_after_start: bool,
    /// A tool that was granted runs, and only history has its result (§7.4).
    pub no_granted_result: bool,
    /// History has the result of a trusted tool twice (§7.5).
    pub duplicate_results: bool,
    /// A failure of the model: 500 as plain text in `none`, a clean end in message mode, endless silence in delta mode
    /// (§7.8). Off: `turn_stop` with `error`.
    pub hidden_failures: bool,
    /// History has text before the thinking that came first (§7.9).
    pub text_before_thinking: bool,
    /// What server tools give back is written as JSON once more (§7.13).
    pub json_results: bool,
    /// Every page of the list of sessions names the same next page (§2).
    pub repeated_cursor: bool,
}

impl TurnsFaults {
    /// All that the reference server of v3 did wrong in the measured runs, but for what it lost.
    #[must_use]
    pub fn measured() -> Self {
        Self {
            no_granted_result: true,
            duplicate_results: true,
            hidden_failures: true,
            text_before_thinking: true,
            json_results: true,
            ..Self::default()
        }
    }
}

/// How the `turns` side behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnsManner {
    /// Which version it speaks.
    pub version: TurnsVersion,
    /// The number in `/meta`; `None` = the version's own. For clients that meet a version nobody knows.
    pub number: Option<u64>,
    /// Text can stream in pieces.
    pub delta: bool,
    /// Text can stream in whole messages.
    pub message: bool,
    /// A turn can be one JSON answer (v3).
    pub none: bool,
    /// `/meta` names the modes at all.
    pub says_stream: bool,
    /// Exact history (v3).
    pub full: bool,
    /// Compacted history (v3).
    pub compacted: bool,
    /// History in pages (v4).
    pub tail: bool,
    /// Client tools are taken (v3; v4 always takes them).
    pub client_tools: bool,
    /// Images by address.
    pub image_http: bool,
    /// Images in the message.
    pub image_data: bool,
    /// `/meta` wants the token as well.
    pub meta_auth: bool,
    /// Agents that are left out of `/meta`; their sessions stay.
    pub hidden_agents: Vec<String>,
    /// How many sessions a page has.
    pub page: usize,
    /// How many entries a page of history has (v4).
    pub history_page: usize,
    /// What `Location` names.
    pub location: TurnsLocation,
    /// The beginning of what history says of a denied call.
    pub denial: String,
    /// When events join the history (v4).
    pub fold: TurnsFold,
    /// `idle` comes, and the stream closes, as soon as nothing is left to do (v4); otherwise on an order only.
    pub idle_after_turn: bool,
    /// A message while the agent works interrupts it (v4); otherwise it waits for its turn.
    pub interrupts: bool,
    /// What it does wrong.
    pub faults: TurnsFaults,
}

impl Default for TurnsManner {
    fn default() -> Self {
        Self {
            version: TurnsVersion::default(),
            number: None,
            delta: true,
            message: true,
            none: true,
            says_stream: true,
            full: true,
            compacted: true,
            tail: true,
            client_tools: true,
            image_http: true,
            image_data: true,
            meta_auth: false,
            hidden_agents: Vec::new(),
            page: 20,
            history_page: 20,
            location: TurnsLocation::default(),
            denial: "Tool call denied".to_owned(),
            fold: TurnsFold::default(),
            idle_after_turn: true,
            interrupts: false,
            faults: TurnsFaults::default(),
        }
    }
}

impl TurnsManner {
    /// As a version behaves, in all else as by default.
    #[must_use]
    pub fn of(version: TurnsVersion) -> Self {
        Self { version, ..Self::default() }
    }

    /// As the reference server of v3 was measured, faults included.
    #[must_use]
    pub fn measured() -> Self {
        Self { denial: "Tool use denied".to_owned(), faults: TurnsFaults::measured(), ..Self::default() }
    }

    pub(crate) fn is_v4(&self) -> bool {
        self.version == TurnsVersion::V4
    }

    pub(crate) fn is_revised(&self) -> bool {
        self.version == TurnsVersion::V3Revised
    }

    pub(crate) fn is_plain_v3(&self) -> bool {
        self.version == TurnsVersion::V3
    }

    /// What `/meta` says.
    pub(crate) fn number(&self) -> u64 {
        self.number.unwrap_or(if self.is_v4() { 4 } else { 3 })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_draft_keeps_the_number_of_the_released_version() {
        let number = |version| TurnsManner::of(version).number();
        assert_eq!([TurnsVersion::V3, TurnsVersion::V3Revised, TurnsVersion::V4].map(number), [3, 3, 4]);
        assert_eq!(TurnsManner { number: Some(7), ..TurnsManner::default() }.number(), 7);
    }

    #[test]
    fn a_manner_is_read_from_the_words_that_differ() {
        let manner: TurnsManner =
            serde_json::from_str(r#"{"version":"v4","delta":false,"faults":{"json_results":true}}"#).unwrap();
        assert!(manner.is_v4() && !manner.delta && manner.message && manner.faults.json_results);
        assert!(serde_json::from_str::<TurnsManner>(r#"{"version":"v5"}"#).is_err());
    }
}
