//! Answers that leave together: what a turn asked is decided one by one, and when all of a group is decided, one request
//! carries the answers and goes on with the turn.
//!
//! Each decision is written down when it is made. Before the request leaves, the log says that the answers do; when the
//! server answers, that they arrived. An answer that is lost is never given a second time by itself: the history tells
//! whether it arrived, and where it has not for long enough, the person decides again.

use std::collections::BTreeSet;

use contract::{
    command::QueuedMessageAction,
    error::{AppError, ErrorCode},
    request::{ChoiceKind, DecidedBy, Decision, Fate, Request, RequestKind, RequestState},
    session::SessionState,
};
use protocols::Outgoing;
use store::StoreError;
use tokio::time::{Duration, Instant};

use super::{
    handle::Reply,
    local::{Answered, LocalRecord},
    reduce::requests::is_unanswered,
    task::{SessionTask, answer},
    turn_stream::Began,
};
use crate::server::link::AskError;

/// The longest pause between two tries of a request that never reached the server.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What is said of answers that the history does not hold.
const NOT_THERE: &str = "The connection broke while the answers were on their way, and the server's history does not hold them. They were not sent again: decide anew.";

/// What a tool of the client gives where the person wrote something else instead of answering.
const CANCELLED: &str = "cancelled by user";

/// Where a decision stands that leaves with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Together {
    /// Written down; the others are not all decided, or nothing can be sent now.
    Gathered,
    /// The request is under way.
    Left,
    /// Its answer was lost.
    Lost,
}

impl SessionTask {
    /// Whether answers leave together here.
    pub(super) fn answers_together(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.protocol.capabilities().answers_together)
    }

    /// Whether nothing runs, since the turn waits for answers of ours.
    pub(super) fn waits_here(&self) -> bool {
        let unanswered =
            |request: &Request| is_unanswered(&request.state) || matches!(request.state, RequestState::Sending { .. });
        self.fold.reducer.state == SessionState::Waiting
            && self.fold.reducer.requests.iter().any(|request| request.group.is_some() && unanswered(request))
    }

    /// Whether answers were lost whose arrival is not known.
    pub(super) fn has_lost_answers(&self) -> bool {
        self.in_flight.values().any(|flight| flight.together == Some(Together::Lost))
    }

    /// What a crash left gathered or on its way, once the log is read.
    pub(super) fn take_up_answers(&mut self) {
        let mut lost = Vec::new();
        for (request, flight) in &mut self.in_flight {
            if let Some(kept) = flight.kept.as_mut() {
                kept.decision.result = self.fold.carried.after_crash(kept).or(kept.decision.result.take());
            }
            if flight.together.is_some() && self.fold.left.contains(request) {
                flight.together = Some(Together::Lost);
                lost.push((request.clone(), flight.ours(Fate::Sending, flight.at)));
            }
        }
        for (request, ours) in lost {
            self.fold.reducer.decided(&request, ours, 1);
            self.beside.owe_for_turn();
        }
    }

    /// Sends the answers of a group that is decided whole.
    pub(super) async fn send_gathered(&mut self) -> Result<(), StoreError> {
        if self.stream.is_open() || self.beside.owed || self.link.is_none() || self.fold.reducer.closed.is_some() {
            return Ok(());
        }
        let groups: BTreeSet<String> = self
            .in_flight
            .iter()
            .filter(|(_, flight)| flight.together == Some(Together::Gathered))
            // As it is shown now: the history may put calls together otherwise than the stream did.
            .filter_map(|(request, _)| self.fold.reducer.requests.get(request)?.group.clone())
            .collect();
        for group in groups {
            if let Some(requests) = self.complete(&group).await? {
                return self.send_answers(requests).await;
            }
        }
        Ok(())
    }

    /// The requests of a group, in order, once each is decided and can leave.
    async fn complete(&mut self, group: &str) -> Result<Option<Vec<String>>, StoreError> {
        let now = Instant::now();
        let of_group = |request: &&Request| request.group.as_deref() == Some(group);
        let known: Vec<&Request> = self.fold.reducer.requests.iter().filter(of_group).collect();
        let mut requests = Vec::new();
        let mut changed = Vec::new();
        for request in known {
            let flight = self.in_flight.get(&request.id).filter(|flight| flight.together == Some(Together::Gathered));
            let Some(flight) = flight else {
                if is_unanswered(&request.state) {
                    return Ok(None);
                }
                continue;
            };
            if flight.carrying || flight.retry_at.is_some_and(|at| at > now) {
                return Ok(None);
            }
            if flight.kept.as_ref().is_none_or(|kept| kept.decision.digest != request.digest) {
                changed.push(request.id.clone());
            }
            requests.push(request.id.clone());
        }
        for request in &changed {
            // What was decided on is not what stands there now: never sent.
            self.settle(request, Fate::Superseded).await?;
            self.fold.reducer.reopen(request);
        }
        Ok((changed.is_empty() && !requests.is_empty()).then_some(requests))
    }

    async fn send_answers(&mut self, requests: Vec<String>) -> Result<(), StoreError> {
        let kept: Vec<_> = requests.iter().filter_map(|id| self.in_flight.get(id)?.kept.clone()).collect();
        let answers = kept.iter().map(super::deliver::Kept::answer).collect();
        let trusts: Vec<String> = kept.iter().filter_map(|kept| kept.trust.clone()).collect();
        let Some(link) = self.link.clone() else { return Ok(()) };
        let first = if trusts.is_empty() { None } else { self.trusting(&link, trusts.clone()) };
        let trusts = if first.is_some() { Vec::new() } else { trusts };
        let setup = self.setup_to_send(trusts).await;
        self.note(&LocalRecord::AnswersLeft { requests: requests.clone() }).await?;
        for request in &requests {
            if let Some(flight) = self.in_flight.get_mut(request) {
                flight.together = Some(Together::Left);
                (flight.posting, flight.retry_at) = (true, None);
                flight.attempt += 1;
                let (ours, attempt) = (flight.ours(Fate::Sending, flight.at), flight.attempt);
                self.fold.reducer.decided(request, ours, attempt);
            }
        }
        let outgoing = Outgoing::Answers { answers, setup };
        if let Err(Began::Answers(requests)) = self.open_turn_after(&outgoing, Began::Answers(requests), first) {
            let error = AppError::new(ErrorCode::Unsupported, "These answers cannot be given to this server.");
            return self.answers_refused(&requests, &error).await;
        }
        Ok(())
    }

    /// What the log says of the answers that have arrived.
    pub(super) fn answered(&self, requests: &[String]) -> Vec<Answered> {
        let kept = |id: &String| {
            let kept = self.in_flight.get(id)?.kept.as_ref()?;
            let (reason, result) = (kept.decision.reason.clone(), kept.decision.result.clone());
            Some(Answered { request: id.clone(), choice: kept.choice, reason, result })
        };
        requests.iter().filter_map(kept).collect()
    }

    /// The server began to answer: it has them all.
    pub(super) async fn answers_arrived(&mut self, requests: &[String]) -> Result<(), StoreError> {
        for request in requests {
            self.settle(request, Fate::Accepted).await?;
        }
        Ok(())
    }

    /// The request with the answers opened nothing.
    pub(super) async fn answers_not_opened(&mut self, requests: &[String], failed: AskError) -> Result<(), StoreError> {
        if failed.uncertain {
            self.lose_answers(requests);
            return Ok(());
        }
        let waits = match failed.error.code {
            // The next token sends them.
            ErrorCode::Unauthorized => true,
            ErrorCode::Busy | ErrorCode::Conflict => false,
            _ => failed.error.retryable,
        };
        if !waits {
            return self.answers_refused(requests, &failed.error).await;
        }
        self.note(&LocalRecord::AnswersBack { requests: requests.to_vec() }).await?;
        let again = failed.error.code != ErrorCode::Unauthorized;
        for request in requests {
            let Some(flight) = self.in_flight.get_mut(request) else { continue };
            let pause = Duration::from_millis(500).saturating_mul(2u32.saturating_pow(flight.attempt.min(8)));
            (flight.together, flight.posting) = (Some(Together::Gathered), false);
            flight.retry_at = again.then(|| Instant::now() + pause.min(LONGEST_PAUSE));
            let ours = flight.ours(Fate::Sending, flight.at);
            self.fold.reducer.decided(request, ours, 0);
        }
        Ok(())
    }

    /// Whether they arrived is not known: the history is read for it.
    pub(super) fn lose_answers(&mut self, requests: &[String]) {
        for request in requests {
            if let Some(flight) = self.in_flight.get_mut(request) {
                (flight.together, flight.posting) = (Some(Together::Lost), false);
            }
        }
        self.beside.owe_for_turn();
    }

    /// The server refuses them: all of the group can be decided again.
    async fn answers_refused(&mut self, requests: &[String], error: &AppError) -> Result<(), StoreError> {
        for request in requests {
            if let Some(flight) = self.in_flight.get_mut(request) {
                flight.posting = false;
            }
            self.settle(request, Fate::Refused { message: error.message.clone() }).await?;
        }
        self.fold.reducer.touch_header();
        Ok(())
    }

    /// The history was read: lost answers are there, or are given up once it has said nothing of them for long enough.
    pub(super) async fn judge_answers(&mut self, given_up: bool) -> Result<(), StoreError> {
        let unknown: Vec<String> = self
            .in_flight
            .iter()
            .filter(|(id, flight)| flight.together.is_some() && self.fold.reducer.requests.get(id).is_none())
            .map(|(id, _)| id.clone())
            .collect();
        for request in unknown {
            // The server asks nothing of the kind any more.
            self.settle(&request, Fate::Superseded).await?;
        }
        let lost: Vec<String> = self
            .in_flight
            .iter()
            .filter(|(_, flight)| flight.together == Some(Together::Lost))
            .map(|(id, _)| id.clone())
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        let has_result = |id: &String| {
            let item = self.fold.reducer.requests.get(id).and_then(|request| request.item.clone());
            item.is_some_and(|item| self.fold.reducer.has_ended(&item))
        };
        if self.fold.reducer.state != SessionState::Waiting || lost.iter().any(has_result) {
            return self.answers_arrived(&lost).await;
        }
        if given_up {
            return self.answers_refused(&lost, &AppError::new(ErrorCode::Unreachable, NOT_THERE)).await;
        }
        Ok(())
    }

    /// The person wants a queued message to go out instead of answering: what waits is declined, all of it together, and
    /// the message follows when the turn has ended.
    pub(super) async fn decline_and_send(
        &mut self,
        act: QueuedMessageAction,
        reply: Reply<()>,
    ) -> Result<(), StoreError> {
        if self.link.is_none() {
            answer(
                reply,
                Err(AppError::new(ErrorCode::ServerPaused, "This server is paused or off. Nothing was sent.")),
            );
            return Ok(());
        }
        let open: Vec<Request> = self
            .fold
            .reducer
            .requests
            .open()
            .filter(|request| request.state != RequestState::Announced && !self.in_flight.contains_key(&request.id))
            .cloned()
            .collect();
        self.queued(&act.id, true, reply).await?;
        if self.outbox.iter().all(|message| message.id != act.id) {
            return Ok(());
        }
        for request in open {
            let of_kind = |kind: &ChoiceKind| request.choices.iter().find(|choice| choice.kind == *kind);
            let wanted = [ChoiceKind::Deny, ChoiceKind::Decline, ChoiceKind::ReportError, ChoiceKind::Answer];
            let Some(choice) = wanted.iter().find_map(of_kind).cloned() else { continue };
            // What a tool of the client gives is a text, whatever the tool.
            let is_tool = request.own_tool.is_some()
                || request.kind == RequestKind::ClientTool
                || request.kind == RequestKind::Question && request.group.is_some();
            let decision = Decision {
                session: self.id,
                request: request.id.clone(),
                digest: request.digest.clone(),
                choice: choice.id.clone(),
                reason: None,
                answers: Vec::new(),
                result: is_tool.then(|| CANCELLED.to_owned()),
            };
            match self.write_decision(&request, &choice, decision, DecidedBy::You).await {
                // Settled meanwhile: that is what was wanted.
                Err(StoreError::AlreadyDecided { .. }) | Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
