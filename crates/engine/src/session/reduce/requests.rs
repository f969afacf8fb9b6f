//! The requests of one session, from the first word of them to their end.

use std::{collections::HashMap, sync::Arc};

use contract::{
    Millis,
    event::RequestSeed,
    request::{ChoiceKind, Fate, Request, RequestKind, RequestState},
};

use crate::request::card::{Owner, card, fallback_seed};

/// What this app decided on a request, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ours {
    /// What was chosen.
    pub choice: ChoiceKind,
    /// Where it stands.
    pub fate: Fate,
    /// When.
    pub at: Millis,
    /// The digest of what was shown: a decision is about these bytes and no others.
    pub digest: String,
}

/// A settlement the ledger must hear of: not decided here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledElsewhere {
    /// Which.
    pub request: String,
    /// How, where known.
    pub choice: Option<ChoiceKind>,
    /// The reason given there.
    pub reason: Option<String>,
    /// When it was seen.
    pub at: Millis,
    /// Nobody answered: the server's time had run out.
    pub expired: bool,
}

/// A settlement may be seen a little before the deadline as it is counted here: the request took its time to arrive.
const DEADLINE_SLACK_MS: i64 = 500;

fn is_late(request: &Request, at: Millis) -> bool {
    request.deadline.is_some_and(|deadline| at >= deadline - DEADLINE_SLACK_MS)
}

/// The requests of one session.
#[derive(Debug)]
pub struct RequestBook {
    owner: Owner,
    order: Vec<String>,
    requests: HashMap<String, Request>,
    payloads: HashMap<String, Arc<str>>,
    ours: HashMap<String, Ours>,
    /// Ids the server waits for that no seed explained yet.
    unexplained: Vec<String>,
    /// Ids the server named in its last word on what it waits for.
    waiting: Vec<String>,
    /// The answer to a decision says whether it came in time; what else is seen of its end does not.
    pub answers_tell: bool,
}

/// Settled requests kept for showing; older ones live in the ledger.
const KEPT_SETTLED: usize = 20;

impl RequestBook {
    /// An empty book. `ours`: decisions of this app on this session, from the ledger.
    #[must_use]
    pub fn new(owner: Owner, ours: HashMap<String, Ours>) -> Self {
        Self {
            owner,
            order: Vec::new(),
            requests: HashMap::new(),
            payloads: HashMap::new(),
            ours,
            unexplained: Vec::new(),
            waiting: Vec::new(),
            answers_tell: false,
        }
    }

    /// Whose requests these are.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Changes the server's name on cards made from now on.
    pub fn rename_server(&mut self, name: &str) {
        name.clone_into(&mut self.owner.server_name);
    }

    /// A request by id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Request> {
        self.requests.get(id)
    }

    /// Whether the person refused it, here or elsewhere.
    pub fn refused(&self, id: &str) -> bool {
        let elsewhere = match self.get(id).map(|request| &request.state) {
            Some(RequestState::Elsewhere { choice, .. }) => *choice,
            _ => None,
        };
        let chosen = elsewhere.or_else(|| self.ours.get(id).map(|ours| ours.choice));
        matches!(chosen, Some(ChoiceKind::Deny | ChoiceKind::Decline))
    }

    /// A long text of a card.
    #[must_use]
    pub fn payload(&self, handle: &str) -> Option<&Arc<str>> {
        self.payloads.get(handle)
    }

    /// All that are kept, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.order.iter().filter_map(|id| self.requests.get(id))
    }

    /// Those that wait for the person.
    pub fn open(&self) -> impl Iterator<Item = &Request> {
        self.iter().filter(|request| waits(&request.state))
    }

    /// Ids the server waits for without anything here that explains them.
    #[must_use]
    pub fn unexplained(&self) -> &[String] {
        &self.unexplained
    }

    /// A request became known, or known better. Returns whether anything changed.
    pub fn seed(&mut self, seed: &RequestSeed, agent_path: Vec<String>, at: Millis) -> bool {
        let known = self.requests.get(&seed.id);
        if known.is_some_and(|known| settled(&known.state) && known.kind != RequestKind::Fallback) {
            return false;
        }
        let made = card(&self.owner, seed, agent_path, known.map_or(at, |known| known.asked_at));
        let mut request = made.request;
        if let Some(known) = known {
            let same = known.digest == request.digest;
            match &known.state {
                // A decision on its way stays what it is, as long as it is about the same bytes.
                RequestState::Gathered { .. }
                | RequestState::Sending { .. }
                | RequestState::Refused { .. }
                | RequestState::Open
                    if same =>
                {
                    request.state = known.state.clone();
                }
                RequestState::Announced
                | RequestState::Open
                | RequestState::Gathered { .. }
                | RequestState::Sending { .. }
                | RequestState::Refused { .. }
                | RequestState::Accepted { .. }
                | RequestState::Expired
                | RequestState::Elsewhere { .. }
                | RequestState::Unsure { .. }
                | RequestState::Void => {}
            }
        } else {
            self.order.push(seed.id.clone());
        }
        if self.waiting.contains(&seed.id) && matches!(request.state, RequestState::Announced) {
            request.state = RequestState::Open;
        }
        if let Some(ours) = self.ours.get(&seed.id).filter(|ours| ours.digest == request.digest) {
            let on_its_way = matches!(request.state, RequestState::Sending { .. }) && ours.fate == Fate::Sending;
            if !on_its_way {
                request.state = gathered(state_of(ours), ours.at, request.group.is_some());
            }
        }
        self.unexplained.retain(|id| id != &seed.id);
        self.payloads.retain(|handle, _| !handle.starts_with(&format!("request:{}#", seed.id)));
        self.payloads.extend(made.payloads.into_iter().map(|(handle, text)| (handle, Arc::from(text))));
        let changed = self.requests.get(&seed.id) != Some(&request);
        self.requests.insert(seed.id.clone(), request);
        changed
    }

    /// The server waits for exactly these. Returns the ids that changed.
    pub fn waiting(&mut self, ids: &[String], at: Millis) -> Vec<String> {
        let mut changed = Vec::new();
        for (id, request) in &mut self.requests {
            let named = ids.contains(id);
            match request.state {
                RequestState::Announced if named => request.state = RequestState::Open,
                // The server no longer waits for it, and nobody here answered.
                RequestState::Open | RequestState::Refused { .. } if !named && is_late(request, at) => {
                    request.state = RequestState::Expired;
                }
                RequestState::Open | RequestState::Gathered { .. } | RequestState::Refused { .. } if !named => {
                    request.state = RequestState::Elsewhere { choice: None, at };
                }
                _ => continue,
            }
            changed.push(id.clone());
        }
        self.waiting = ids.to_vec();
        self.unexplained = ids.iter().filter(|id| !self.requests.contains_key(*id)).cloned().collect();
        changed
    }

    /// Makes a fallback card for every id that nothing explains. Returns the ids.
    pub fn make_fallbacks(&mut self, at: Millis) -> Vec<String> {
        let ids = std::mem::take(&mut self.unexplained);
        for id in &ids {
            self.seed(&fallback_seed(id), Vec::new(), at);
        }
        ids
    }

    /// The turn goes on: what still stood open is not waited for until the server says so again.
    pub fn goes_on(&mut self) -> Vec<String> {
        self.waiting.clear();
        self.unexplained.clear();
        self.change_where(|request| match request.state {
            RequestState::Open if request.kind != RequestKind::ClientTool => Some(RequestState::Announced),
            _ => None,
        })
    }

    /// The turn is over: nothing waits any more.
    pub fn turn_over(&mut self) -> Vec<String> {
        self.waiting.clear();
        self.unexplained.clear();
        self.change_where(|request| is_unanswered(&request.state).then_some(RequestState::Void))
    }

    fn change_where(&mut self, mut next: impl FnMut(&Request) -> Option<RequestState>) -> Vec<String> {
        let mut changed = Vec::new();
        for (id, request) in &mut self.requests {
            if let Some(state) = next(request) {
                request.state = state;
                changed.push(id.clone());
            }
        }
        changed
    }

    /// The server has an answer. Returns whether anything changed, and what the ledger must hear of.
    pub fn settled(
        &mut self,
        id: &str,
        choice: Option<ChoiceKind>,
        reason: Option<String>,
        at: Millis,
    ) -> (bool, Option<SettledElsewhere>) {
        self.unexplained.retain(|known| known != id);
        self.waiting.retain(|known| known != id);
        let ours = self.ours.get(id).cloned();
        let Some(request) = self.requests.get_mut(id) else { return (false, None) };
        if let RequestState::Unsure { choice: chosen, .. } = request.state {
            // That it is settled was known: only how is news.
            let Some(choice) = choice else { return (false, None) };
            request.state = if choice == chosen {
                RequestState::Accepted { choice, at }
            } else {
                RequestState::Elsewhere { choice: Some(choice), at }
            };
            return (true, None);
        }
        if matches!(
            request.state,
            RequestState::Elsewhere { choice: Some(_), .. } | RequestState::Accepted { .. } | RequestState::Expired
        ) {
            return (false, None);
        }
        // The answer to ours says whether it came in time.
        if choice.is_none()
            && (self.answers_tell || is_late(request, at))
            && ours.as_ref().is_some_and(|ours| ours.fate == Fate::Sending)
            && !matches!(request.state, RequestState::Gathered { .. })
        {
            return (false, None);
        }
        // An echo of our own decision: the same choice while ours was on its way or accepted.
        if let Some(ours) = &ours
            && !matches!(ours.fate, Fate::Refused { .. } | Fate::Superseded | Fate::Unknown)
            && match choice {
                Some(choice) => choice == ours.choice,
                // Ours has not left yet: whatever settled it was not ours.
                None => !matches!(request.state, RequestState::Gathered { .. }),
            }
        {
            request.state = RequestState::Accepted { choice: ours.choice, at };
            return (true, None);
        }
        let expired = choice.is_none() && ours.is_none() && waits(&request.state) && is_late(request, at);
        request.state = if expired { RequestState::Expired } else { RequestState::Elsewhere { choice, at } };
        (true, ours.is_none().then(|| SettledElsewhere { request: id.to_owned(), choice, reason, at, expired }))
    }

    /// A decision of ours was written down, or its fate became known.
    pub fn decided(&mut self, id: &str, ours: Ours, attempt: u32) -> bool {
        let state = match &ours.fate {
            // Not tried yet: it waits for the others of its group.
            Fate::Sending if attempt == 0 => RequestState::Gathered { choice: ours.choice, at: ours.at },
            Fate::Sending => RequestState::Sending { choice: ours.choice, attempt },
            Fate::Accepted | Fate::Refused { .. } | Fate::Superseded | Fate::Unknown => state_of(&ours),
        };
        // A refused answer can be given again, so it is no longer ours.
        if matches!(ours.fate, Fate::Refused { .. } | Fate::Superseded | Fate::Unknown) {
            self.ours.remove(id);
        } else {
            self.ours.insert(id.to_owned(), ours);
        }
        match self.requests.get_mut(id) {
            Some(request)
                if !matches!(
                    request.state,
                    RequestState::Accepted { .. } | RequestState::Elsewhere { .. } | RequestState::Expired
                ) =>
            {
                request.state = state;
                true
            }
            _ => false,
        }
    }

    /// The decision that was on its way was about other bytes: this waits again, where the server still waits for it.
    pub fn reopen(&mut self, id: &str) -> bool {
        self.ours.remove(id);
        let waited_for = self.waiting.iter().any(|known| known == id);
        match self.requests.get_mut(id) {
            Some(request) => {
                request.state = if waited_for { RequestState::Open } else { RequestState::Announced };
                true
            }
            None => false,
        }
    }

    /// Forgets the oldest settled requests beyond those kept for showing. Returns their ids.
    pub fn prune(&mut self) -> Vec<String> {
        let settled_ids: Vec<String> =
            self.iter().filter(|request| settled(&request.state)).map(|request| request.id.clone()).collect();
        let surplus = settled_ids.len().saturating_sub(KEPT_SETTLED);
        let gone: Vec<String> = settled_ids.into_iter().take(surplus).collect();
        for id in &gone {
            self.requests.remove(id);
            self.payloads.retain(|handle, _| !handle.starts_with(&format!("request:{id}#")));
        }
        self.order.retain(|id| !gone.contains(id));
        gone
    }
}

fn state_of(ours: &Ours) -> RequestState {
    match &ours.fate {
        Fate::Sending => RequestState::Sending { choice: ours.choice, attempt: 0 },
        Fate::Accepted => RequestState::Accepted { choice: ours.choice, at: ours.at },
        Fate::Refused { message } => RequestState::Refused { choice: ours.choice, message: message.clone() },
        Fate::Superseded => RequestState::Elsewhere { choice: None, at: ours.at },
        Fate::Unknown => RequestState::Unsure { choice: ours.choice, at: ours.at },
    }
}

/// A decision of a group leaves with the others.
fn gathered(state: RequestState, at: Millis, with_others: bool) -> RequestState {
    match state {
        RequestState::Sending { choice, .. } if with_others => RequestState::Gathered { choice, at },
        other => other,
    }
}

/// Whether the server has no answer to a request in this state, and none of ours is on its way.
#[must_use]
pub fn is_unanswered(state: &RequestState) -> bool {
    waits(state) || matches!(state, RequestState::Gathered { .. })
}

/// Whether a request in this state waits for the person.
#[must_use]
pub fn waits(state: &RequestState) -> bool {
    matches!(state, RequestState::Open | RequestState::Announced | RequestState::Refused { .. })
}

/// Whether nothing more will come of a request in this state.
#[must_use]
pub fn settled(state: &RequestState) -> bool {
    matches!(
        state,
        RequestState::Accepted { .. }
            | RequestState::Expired
            | RequestState::Elsewhere { .. }
            | RequestState::Unsure { .. }
            | RequestState::Void
    )
}
