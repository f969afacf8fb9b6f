//! This app's own tools: carried out here on the person's yes, once, and told to the agent in words.
//!
//! The decision is in the ledger before anything is done; what came of it is in the log before it is told. Where the app
//! ended in between, nobody knows whether it was done: that is said, and it is not done again.

use std::{collections::HashMap, sync::Arc};

use contract::{request::ChoiceKind, setup::OwnToolCall};
use store::StoreError;

use super::{
    deliver::Kept,
    local::LocalRecord,
    task::{News, SessionTask},
};
use crate::desktop::{Desktop, DesktopError};

/// What the agent is told where the app ended while something was carried out.
const NOT_KNOWN: &str = "The app ended while this was carried out; whether it happened is not known.";

/// What the agent is told of a call that was not allowed.
const DECLINED: &str = "The user declined.";

/// What was carried out, by request: the digest of what was shown, and what came of it.
#[derive(Debug, Default)]
pub struct Carried(HashMap<String, (String, String)>);

impl Carried {
    /// Something was carried out.
    pub fn took(&mut self, request: String, digest: String, result: String) {
        self.0.insert(request, (digest, result));
    }

    fn of(&self, kept: &Kept) -> Option<String> {
        let (digest, result) = self.0.get(&kept.decision.request)?;
        (*digest == kept.decision.digest).then(|| result.clone())
    }

    /// What is told of a decision that a crash left: it is not carried out again.
    pub(super) fn after_crash(&self, kept: &Kept) -> Option<String> {
        let owes = kept.own_tool.is_some() && allows(kept) && kept.decision.result.is_none();
        owes.then(|| self.of(kept).unwrap_or_else(|| NOT_KNOWN.to_owned()))
    }
}

fn allows(kept: &Kept) -> bool {
    matches!(kept.choice, ChoiceKind::AllowOnce | ChoiceKind::AllowAlways)
}

impl SessionTask {
    /// What is told of a decision on a call of an own tool, where that is known without carrying anything out.
    pub(super) fn own_result(&self, kept: &Kept) -> Option<String> {
        kept.own_tool.as_ref()?;
        if allows(kept) {
            // Allowed again after the server had refused the answer: it was done already.
            return self.fold.carried.of(kept);
        }
        let reason = kept.decision.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let words = reason.map_or_else(|| DECLINED.to_owned(), |reason| format!("{DECLINED} {reason}"));
        Some(kept.decision.result.clone().unwrap_or(words))
    }

    /// Carries out what was allowed.
    pub(super) fn carry_out(&self, request: &str) {
        let kept = self.in_flight.get(request).and_then(|flight| flight.kept.as_ref());
        let Some(call) = kept.and_then(|kept| kept.own_tool.clone()) else { return };
        let (desktop, news, request) = (Arc::clone(&self.hub.desktop), self.news.clone(), request.to_owned());
        tokio::spawn(async move {
            let result = carried(desktop.as_ref(), call).await;
            // The session's task may have ended: the ledger says that it was allowed, the log nothing of how it went.
            let _ = news.send(News::CarriedOut { request, result }).await;
        });
    }

    /// It is done: written down, and told when it can be.
    pub(super) async fn carried_out(&mut self, request: &str, result: String) -> Result<(), StoreError> {
        let kept = self.in_flight.get(request).and_then(|flight| flight.kept.as_ref());
        let Some(digest) = kept.map(|kept| kept.decision.digest.clone()) else { return Ok(()) };
        let record = LocalRecord::CarriedOut { request: request.to_owned(), digest: digest.clone(), result };
        self.note(&record).await?;
        let LocalRecord::CarriedOut { result, .. } = record else { return Ok(()) };
        self.fold.carried.took(request.to_owned(), digest, result.clone());
        if let Some(flight) = self.in_flight.get_mut(request) {
            flight.carrying = false;
            if let Some(kept) = flight.kept.as_mut() {
                kept.decision.result = Some(result);
            }
        }
        self.post_decision(request);
        self.send_gathered().await
    }
}

async fn carried(desktop: &dyn Desktop, call: OwnToolCall) -> String {
    let done = match call {
        OwnToolCall::NotifyUser { title, body } => {
            desktop.notify(title, body).await.map(|()| "The notification was shown.".to_owned())
        }
        OwnToolCall::OpenLink { url } => desktop.open_link(url).await.map(|()| "The link was opened.".to_owned()),
        OwnToolCall::ReadClipboard => desktop
            .read_clipboard()
            .await
            .map(|text| if text.is_empty() { "The clipboard holds no text.".to_owned() } else { text }),
        OwnToolCall::WriteClipboard { text } => {
            desktop.write_clipboard(text).await.map(|()| "The text was copied to the clipboard.".to_owned())
        }
    };
    done.unwrap_or_else(|error: DesktopError| format!("It was not done: {error}."))
}
