//! Decisions: checked, written down and synced, then sent until the server has settled them (design, promises 2 and 3).

use std::collections::HashMap;

use contract::{
    error::{AppError, ErrorCode},
    item::{Item, ItemBody, Notice, NoticeCode, NoticeLevel},
    request::{Choice, ChoiceKind, DecidedBy, Decision, Fate, Request, RequestKind, RequestState, Scope, UNKNOWN_TOOL},
    session::StopState,
    setup::OwnToolCall,
};
use protocols::{GroupAnswer, Outgoing, Repeat, Sent};
use serde::{Deserialize, Serialize};
use store::{NewDecision, PendingDecision, StoreError};
use tokio::time::{Duration, Instant};

use super::{
    group::Together,
    handle::Reply,
    reduce::requests::Ours,
    task::{News, SessionTask, answer},
};
use crate::{
    ids,
    request::arguments::one_line,
    server::link::{AskError, ServerLink},
};

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Everything needed to send a decision again after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub kind: RequestKind,
    pub choice: ChoiceKind,
    pub decision: Decision,
    /// It leaves with the answers to the rest of this group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The tool that was allowed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// What is done here before it leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_tool: Option<OwnToolCall>,
}

impl Kept {
    fn new(request: &Request, choice: &Choice, decision: Decision, together: bool) -> Self {
        let trust = match (&choice.kind, &choice.scope) {
            (ChoiceKind::AllowAlways, Some(Scope::ToolInSession { tool })) => Some(tool.clone()),
            _ => None,
        };
        Self {
            kind: request.kind,
            choice: choice.kind,
            decision,
            group: request.group.clone().filter(|_| together),
            trust,
            own_tool: request.own_tool.clone(),
        }
    }

    /// As the answer of a group.
    pub(super) fn answer(&self) -> GroupAnswer {
        GroupAnswer {
            request: self.decision.request.clone(),
            kind: self.kind,
            choice: self.choice,
            reason: self.decision.reason.clone().filter(|reason| !reason.trim().is_empty()),
            answers: self.decision.answers.clone(),
            result: self.decision.result.clone(),
        }
    }

    fn outgoing(&self) -> Outgoing {
        let GroupAnswer { request, kind, choice, reason, answers, result } = self.answer();
        Outgoing::Decision { request, kind, choice, reason, answers, result }
    }

    /// Whether the server can be told this.
    fn can_be_said(&self, link: &ServerLink, remote: &str) -> bool {
        match self.group {
            Some(_) => {
                let alone = Outgoing::Answers { answers: vec![self.answer()], setup: None };
                link.protocol.open_turn(remote, &alone).is_some()
            }
            None => link.protocol.send(remote, &self.outgoing(), "").is_some(),
        }
    }
}

/// A decision that is written down and whose fate is not known.
#[derive(Debug)]
pub(super) struct InFlight {
    number: i64,
    key: String,
    pub kept: Option<Kept>,
    choice: ChoiceKind,
    pub at: i64,
    pub attempt: u32,
    /// A request is under way.
    pub posting: bool,
    /// There is another link, or another token, since it left.
    outdated: bool,
    /// An answer was lost: the server may have it since then.
    may_be_there: bool,
    /// The server has an answer, and whether it is this one only the end of its call can tell.
    pub unsure: bool,
    /// The server's truth must be read before anything more is done.
    check: Option<Check>,
    /// What was decided on is not what stands there now.
    changed: bool,
    /// What was decided is being done here: it leaves when that is over.
    pub carrying: bool,
    /// Where it stands with the others of its group, where it leaves with them.
    pub together: Option<Together>,
    /// When it is tried again.
    pub retry_at: Option<Instant>,
}

impl InFlight {
    /// As a crash left it: whether it arrived is not known.
    pub(super) fn after_crash(left: PendingDecision) -> Self {
        let kept: Option<Kept> = serde_json::from_str(&left.outgoing).ok();
        let together = kept.as_ref().and_then(|kept| kept.group.as_ref()).map(|_| Together::Gathered);
        Self {
            number: left.number,
            key: left.key,
            kept,
            choice: left.choice,
            at: left.at,
            attempt: 0,
            posting: false,
            outdated: false,
            may_be_there: true,
            unsure: false,
            check: together.is_none().then_some(Check { refusal: None, since: 0 }),
            changed: false,
            carrying: false,
            together,
            retry_at: None,
        }
    }

    pub(super) fn ours(&self, fate: Fate, at: i64) -> Ours {
        let digest = self.kept.as_ref().map(|kept| kept.decision.digest.clone()).unwrap_or_default();
        Ours { choice: self.choice, fate, at, digest }
    }
}

/// What the history must tell before a decision is given up or sent again.
#[derive(Debug, Clone)]
struct Check {
    /// What the server refused it with, where it did.
    refusal: Option<AppError>,
    /// The first reading that began after the answer was lost or refused: an older one knows nothing of it.
    since: u64,
}

/// Every row of a session's ledger.
pub(super) const ALL_ROWS: u32 = 1_000_000;

/// One line of what a request is about: the command's first line, or the arguments on one line.
pub(super) fn subject(request: &Request) -> String {
    match &request.command {
        Some(command) => one_line(&command.text),
        None => one_line(&request.arguments.text.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}

impl SessionTask {
    /// Takes a decision of the person.
    pub(super) async fn decide(&mut self, decision: Decision, reply: Reply<Request>) -> Result<(), StoreError> {
        let checked = match self.check_decision(&decision) {
            Ok(checked) => checked,
            Err(refused) => {
                answer(reply, Err(refused));
                return Ok(());
            }
        };
        let (request, choice) = checked;
        match self.write_decision(&request, &choice, decision, DecidedBy::You).await {
            Ok(shown) => answer(reply, Ok(shown)),
            Err(StoreError::AlreadyDecided { .. }) => answer(reply, Err(settled_already())),
            // Not written down: not sent.
            Err(error) => answer(reply, Err(error.into())),
        }
        Ok(())
    }

    /// Writes a decision down, and sends it. Gives the request as it is shown then.
    pub(super) async fn write_decision(
        &mut self,
        request: &Request,
        choice: &Choice,
        decision: Decision,
        by: DecidedBy,
    ) -> Result<Request, StoreError> {
        let mut kept = Kept::new(request, choice, decision, self.answers_together());
        kept.decision.result = self.own_result(&kept).or(kept.decision.result.take());
        let carries = kept.own_tool.is_some() && kept.decision.result.is_none();
        let together = kept.group.is_some().then_some(Together::Gathered);
        let choice = choice.kind;
        let at = self.now();
        let key = ids::random();
        let new = NewDecision {
            session: self.id,
            request: request.id.clone(),
            at,
            by,
            choice,
            tool: request.tool.clone(),
            subject: subject(request),
            reason: kept.decision.reason.clone(),
            digest: request.digest.clone(),
            waited_ms: u64::try_from(at - request.asked_at).unwrap_or(0),
            // This plain type always serializes.
            outgoing: serde_json::to_string(&kept).ok(),
            key: key.clone(),
            fate: Fate::Sending,
        };
        let number = self.hub.store.record_decision(new).await?;
        let flight = InFlight {
            number,
            key,
            kept: Some(kept),
            choice,
            at,
            attempt: 0,
            posting: false,
            outdated: false,
            may_be_there: false,
            unsure: false,
            check: None,
            changed: false,
            carrying: carries,
            together,
            retry_at: None,
        };
        let ours = flight.ours(Fate::Sending, at);
        let attempt = u32::from(flight.together.is_none());
        self.in_flight.insert(request.id.clone(), flight);
        self.fold.reducer.decided(&request.id, ours, attempt);
        self.show_decision(number).await?;
        if carries {
            self.carry_out(&request.id);
        }
        self.post_decision(&request.id);
        self.send_gathered().await?;
        Ok(self.fold.reducer.requests.get(&request.id).unwrap_or(request).clone())
    }

    fn check_decision(&self, decision: &Decision) -> Result<(Request, Choice), AppError> {
        let request =
            self.fold.reducer.requests.get(&decision.request).ok_or_else(|| {
                AppError::new(ErrorCode::NotFound, "This request is no longer here. Nothing was sent.")
            })?;
        match &request.state {
            RequestState::Open | RequestState::Refused { .. } => {}
            RequestState::Announced => {
                return Err(AppError::retryable(
                    ErrorCode::RequestNotReady,
                    "The server does not wait for this answer yet. Nothing was sent.",
                ));
            }
            RequestState::Gathered { .. }
            | RequestState::Sending { .. }
            | RequestState::Accepted { .. }
            | RequestState::Expired
            | RequestState::Elsewhere { .. }
            | RequestState::Unsure { .. }
            | RequestState::Void => return Err(settled_already()),
        }
        if request.digest != decision.digest {
            return Err(AppError::new(
                ErrorCode::RequestChanged,
                "The request changed since it was shown. Read it again; nothing was sent.",
            ));
        }
        let choice = request.choices.iter().find(|choice| choice.id == decision.choice).ok_or_else(|| {
            AppError::new(ErrorCode::InvalidInput, "This request has no such choice. Nothing was sent.")
        })?;
        let allows = matches!(choice.kind, ChoiceKind::AllowOnce | ChoiceKind::AllowAlways | ChoiceKind::Answer);
        if allows && matches!(self.fold.reducer.stop, StopState::Requested { .. }) {
            return Err(AppError::new(
                ErrorCode::RequestSettled,
                "You asked to stop this run, so nothing in it is allowed any more.",
            ));
        }
        if self.link.is_none() {
            return Err(AppError::new(ErrorCode::ServerPaused, "This server is paused or off. Nothing was sent."));
        }
        let wants_result = request.kind == RequestKind::ClientTool
            && matches!(choice.kind, ChoiceKind::Answer | ChoiceKind::ReportError);
        if wants_result && decision.result.is_none() && choice.id != UNKNOWN_TOOL {
            return Err(AppError::new(ErrorCode::InvalidInput, "A result is needed. Nothing was sent."));
        }
        let kept = Kept::new(request, choice, decision.clone(), self.answers_together());
        if kept.trust.is_some() && self.setup_now().is_none() {
            return Err(AppError::retryable(
                ErrorCode::RequestNotReady,
                "How this session is set up is not known yet, so nothing can be allowed for good. Nothing was sent.",
            ));
        }
        let can_be_said = |link: &ServerLink| kept.can_be_said(link, &self.record.remote_id);
        if !self.link.as_deref().is_some_and(can_be_said) {
            let words = match choice.kind {
                ChoiceKind::Answer => "The answer is empty. Write something, or choose; nothing was sent.",
                _ => "This answer cannot be given to this server. Nothing was sent.",
            };
            return Err(AppError::new(ErrorCode::InvalidInput, words));
        }
        Ok((request.clone(), choice.clone()))
    }

    /// Sends a decision that is written down.
    pub(super) fn post_decision(&mut self, request: &str) {
        if self.in_flight.get(request).is_some_and(|flight| flight.carrying || flight.together.is_some()) {
            // It leaves when what it tells of is done here, or with its group.
            return;
        }
        let Some(link) = self.link.clone() else {
            // The next link sends it.
            if let Some(flight) = self.in_flight.get_mut(request) {
                flight.retry_at = None;
            }
            return;
        };
        let shown = self.fold.reducer.requests.get(request).map(|known| known.digest.clone());
        let trusts = self.in_flight.get(request).and_then(|flight| flight.kept.as_ref()?.trust.clone());
        let first = trusts.and_then(|tool| self.trusting(&link, [tool]));
        let Some(flight) = self.in_flight.get_mut(request) else { return };
        let ask = flight
            .kept
            .as_ref()
            .filter(|kept| shown.as_ref() == Some(&kept.decision.digest))
            .and_then(|kept| link.protocol.send(&self.record.remote_id, &kept.outgoing(), &flight.key));
        let Some(ask) = ask else {
            // What was decided on is not what stands there now (or cannot be said to this server): never sent again.
            flight.changed = true;
            flight.retry_at = None;
            self.retry_at.get_or_insert_with(Instant::now);
            return;
        };
        flight.attempt += 1;
        flight.posting = true;
        flight.outdated = false;
        flight.check = None;
        flight.retry_at = None;
        let ours = flight.ours(Fate::Sending, flight.at);
        let attempt = flight.attempt;
        self.fold.reducer.decided(request, ours, attempt);
        let news = self.news.clone();
        let (request, remote) = (request.to_owned(), self.record.remote_id.clone());
        tokio::spawn(async move {
            let before = match first {
                Some(first) => link.once_at(&remote, &first).await.map_err(AskError::nothing_left),
                None => Ok(()),
            };
            let result = match before {
                Ok(()) => link.once_at(&remote, &ask).await,
                Err(failed) => Err(failed),
            };
            // The session's task may have ended; the ledger still knows that this is not settled.
            let _ = news.send(News::Delivered { request, result }).await;
        });
    }

    /// The server's answer to a decision.
    pub(super) async fn delivered(&mut self, request: &str, result: Result<Sent, AskError>) -> Result<(), StoreError> {
        if let Some(flight) = self.in_flight.get_mut(request) {
            flight.posting = false;
        }
        match result {
            Ok(sent) => {
                self.take_echoes(sent.echoes).await?;
                // Too late after an answer was lost: that one may have been what settled it.
                let ours = self.in_flight.get(request).is_some_and(|flight| flight.may_be_there);
                match (sent.too_late, ours) {
                    (true, true) => self.settle_by_its_call(request).await,
                    (true, false) => self.settle(request, Fate::Superseded).await,
                    (false, _) => self.settle(request, Fate::Accepted).await,
                }
            }
            Err(failed) => self.delivery_failed(request, failed).await,
        }
    }

    async fn delivery_failed(&mut self, request: &str, failed: AskError) -> Result<(), StoreError> {
        let repeat = self.decision_repeat(request);
        let since = self.history.next_reading();
        let Some(flight) = self.in_flight.get_mut(request) else { return Ok(()) };
        flight.may_be_there |= failed.uncertain;
        tracing::info!(session_id = self.id.0, code = ?failed.error.code, attempt = flight.attempt, "decision not settled");
        let pause =
            Duration::from_millis(500).saturating_mul(2u32.saturating_pow(flight.attempt.min(8))).min(LONGEST_PAUSE);
        match failed.error.code {
            // The next token is there already.
            ErrorCode::Unauthorized if flight.outdated => {
                flight.retry_at = Some(Instant::now());
                Ok(())
            }
            // The token is being asked for; the next one sends it.
            ErrorCode::Unauthorized => Ok(()),
            // Nothing reached the server, or repeating it is safe.
            _ if failed.error.retryable
                && (!failed.uncertain || matches!(repeat, Repeat::SameKey | Repeat::Freely)) =>
            {
                flight.retry_at = Some(Instant::now() + pause);
                Ok(())
            }
            _ if failed.error.retryable => {
                flight.check = Some(Check { refusal: None, since });
                self.retry_at = Some(Instant::now() + pause);
                Ok(())
            }
            // The server says no: whether it has an answer already is in its history.
            _ => {
                flight.check = Some(Check { refusal: Some(failed.error), since });
                self.read_history();
                Ok(())
            }
        }
    }

    fn decision_repeat(&self, request: &str) -> Repeat {
        let kept = self.in_flight.get(request).and_then(|flight| flight.kept.as_ref());
        let ask = self
            .link
            .as_ref()
            .zip(kept)
            .and_then(|(link, kept)| link.protocol.send(&self.record.remote_id, &kept.outgoing(), "probe"));
        ask.map_or(Repeat::AfterLookingForEcho, |ask| ask.repeat)
    }

    /// Sends again what is due.
    pub(super) fn retry_deliveries(&mut self, now: Instant) {
        let due: Vec<String> = self
            .in_flight
            .iter()
            .filter(|(_, flight)| flight.retry_at.is_some_and(|at| at <= now))
            .map(|(request, _)| request.clone())
            .collect();
        for request in due {
            if let Some(flight) = self.in_flight.get_mut(&request).filter(|flight| flight.together.is_some()) {
                flight.retry_at = None;
            }
            self.post_decision(&request);
        }
    }

    /// Another token, or another link: what waited is sent now, what is uncertain is looked up first.
    pub(super) fn retry_deliveries_now(&mut self) {
        for flight in self.in_flight.values_mut() {
            flight.outdated = flight.posting;
        }
        let due: Vec<String> = self
            .in_flight
            .iter()
            .filter(|(_, flight)| !flight.posting && !flight.unsure && flight.check.is_none())
            .map(|(request, _)| request.clone())
            .collect();
        for request in due {
            self.post_decision(&request);
        }
    }

    /// What the stream or the history has shown of decisions under way.
    pub(super) async fn settle_seen(&mut self) -> Result<(), StoreError> {
        self.settle_unsure().await?;
        let seen: Vec<(String, Fate)> = self
            .in_flight
            .keys()
            .filter_map(|request| match &self.fold.reducer.requests.get(request)?.state {
                RequestState::Accepted { .. } => Some((request.clone(), Fate::Accepted)),
                // Its call's end settles it, if anything does.
                RequestState::Unsure { .. } => None,
                RequestState::Elsewhere { .. } | RequestState::Void | RequestState::Expired => {
                    Some((request.clone(), Fate::Superseded))
                }
                RequestState::Announced
                | RequestState::Open
                | RequestState::Gathered { .. }
                | RequestState::Sending { .. }
                | RequestState::Refused { .. } => None,
            })
            // What is on its way may still be answered; a turn's end before that answer is no verdict on it.
            .filter(|(request, fate)| {
                *fate == Fate::Accepted || !self.in_flight.get(request).is_some_and(|f| f.posting)
            })
            .collect();
        for (request, fate) in seen {
            self.settle(&request, fate).await?;
        }
        Ok(())
    }

    /// The history was read by this reading: what was to be checked is now known.
    pub(super) async fn resolve_checks(&mut self, reading: u64) -> Result<(), StoreError> {
        self.settle_seen().await?;
        let changed: Vec<String> =
            self.in_flight.iter().filter(|(_, flight)| flight.changed).map(|(request, _)| request.clone()).collect();
        for request in changed {
            self.settle(&request, Fate::Superseded).await?;
            self.fold.reducer.reopen(&request);
        }
        let checks: HashMap<String, Check> = self
            .in_flight
            .iter()
            .filter_map(|(request, flight)| flight.check.clone().map(|check| (request.clone(), check)))
            .filter(|(_, check)| check.since <= reading)
            .collect();
        for (request, check) in checks {
            let known = self.fold.reducer.requests.get(&request).is_some();
            match check.refusal {
                Some(error) => self.settle(&request, Fate::Refused { message: error.message }).await?,
                // Not at the server yet: sent again, as long as the request is there at all.
                None if known => self.post_decision(&request),
                None => self.settle(&request, Fate::Superseded).await?,
            }
        }
        Ok(())
    }

    pub(super) async fn settle(&mut self, request: &str, fate: Fate) -> Result<(), StoreError> {
        let Some(flight) = self.in_flight.remove(request) else { return Ok(()) };
        let at = self.now();
        self.hub.store.settle_decision(flight.number, fate.clone(), at).await?;
        self.fold.reducer.decided(request, flight.ours(fate, at), flight.attempt);
        self.show_decision(flight.number).await
    }

    /// Decisions of this app, for the reducer.
    pub(super) async fn our_decisions(&self) -> Result<HashMap<String, Ours>, StoreError> {
        let rows = self.hub.store.decisions(Some(self.id), ALL_ROWS).await?;
        let mut ours = HashMap::new();
        // Newest first: an answer that was refused and given again counts by its last try.
        for row in rows.into_iter().filter(|row| matches!(row.by, DecidedBy::You | DecidedBy::Stop)) {
            ours.entry(row.request).or_insert(Ours {
                choice: row.choice,
                fate: row.fate,
                at: row.at,
                digest: row.digest,
            });
        }
        ours.retain(|_, ours| !matches!(ours.fate, Fate::Refused { .. } | Fate::Superseded));
        Ok(ours)
    }

    /// Says in the transcript that the server refused something of ours.
    pub(super) fn say_refused(&mut self, error: &AppError) {
        let at = self.now();
        let id = format!("refused-{}", ids::random());
        let notice = Notice {
            level: NoticeLevel::Error,
            code: NoticeCode::Server,
            text: error.message.clone(),
            detail: error.detail.as_ref().map(|detail| contract::item::Text {
                text: detail.clone(),
                chars: detail.chars().count() as u64,
                handle: None,
            }),
        };
        let item = Item { id, order: 0, turn: None, thread: None, at, body: ItemBody::Notice(notice) };
        self.fold.reducer.show(item, self.position);
    }
}

fn settled_already() -> AppError {
    AppError::new(ErrorCode::RequestSettled, "This request was settled already. Nothing was sent.")
}
