//! What this app thinks of a request by itself: its risk, and what its payload hides.

use contract::{
    event::RequestSeed,
    request::RequestKind,
    scrutiny::{Mark, Reason, Risk, RiskClass, RiskReason},
    setup::OwnToolCall,
};
use scrutiny::{Payload, judge, marks::marks};

/// Judges what the card shows: `command` where the call runs one, else `arguments`, both as they are shown.
pub(super) fn judged(seed: &RequestSeed, command: Option<&str>, arguments: &str) -> (Option<Risk>, Vec<Mark>) {
    let found = marks(command.unwrap_or(arguments));
    let risk = match (&seed.own_tool, seed.kind) {
        (Some(call), _) => Some(own(call, &found)),
        (None, RequestKind::Question) => None,
        // What cannot be seen cannot be judged.
        (None, RequestKind::Fallback) => Some(single(RiskReason::UnknownTool, RiskClass::Unknown, "")),
        (None, RequestKind::Approval | RequestKind::ClientTool) => Some(judge(&Payload {
            tool: seed.tool.as_deref(),
            source: seed.source.as_deref(),
            command,
            arguments: &seed.arguments,
            work_dir: seed.work_dir.as_deref(),
        })),
    };
    (risk, found)
}

/// The tools of this app do what is known.
fn own(call: &OwnToolCall, found: &[Mark]) -> Risk {
    let mut risk = match call {
        OwnToolCall::NotifyUser { .. } => Risk { class: RiskClass::Low, reasons: Vec::new(), segments: Vec::new() },
        OwnToolCall::OpenLink { url } => single(RiskReason::SendsOut, RiskClass::Medium, url),
        OwnToolCall::ReadClipboard => single(RiskReason::ReadsSecrets, RiskClass::High, ""),
        OwnToolCall::WriteClipboard { .. } => single(RiskReason::Overwrites, RiskClass::Medium, ""),
    };
    if !found.is_empty() {
        let hidden = Reason { reason: RiskReason::Hidden, class: RiskClass::High, about: String::new(), segment: None };
        risk.reasons.insert(0, hidden);
        risk.class = RiskClass::High;
    }
    risk
}

fn single(reason: RiskReason, class: RiskClass, about: &str) -> Risk {
    let reason = Reason { reason, class, about: about.to_owned(), segment: None };
    Risk { class, reasons: vec![reason], segments: Vec::new() }
}
