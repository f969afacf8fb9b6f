//! From logged frames to domain events to the reducer: the one path for live frames and for the log.

use std::collections::HashSet;

use contract::{
    event::{Event, EventBody},
    item::{Part, Text},
    request::ChoiceKind,
    setup::SessionSetup,
    wire::{LoggedFrame, Origin},
};
use protocols::{Parsed, Seen, SessionCodec};
use store::{FrameReader, StoreError};

use super::{
    local::{Answered, LocalRecord},
    own_tools::Carried,
    reduce::{Place, Reducer},
    setup::PendingSetup,
};

/// A session's codec and reducer: everything its frames make.
pub struct Fold {
    /// The protocol's running state.
    pub codec: Box<dyn SessionCodec>,
    /// The items and requests.
    pub reducer: Reducer,
    /// A turn of ours began whose stream is the answer to what began it, and neither its end nor a drop came since.
    pub open_turn: bool,
    /// Requests whose answers left together, and nothing came of it since.
    pub left: HashSet<String>,
    /// What was carried out here.
    pub carried: Carried,
    /// The setup that goes with what is sent next.
    pub pending_setup: Option<PendingSetup>,
    events: Vec<Event>,
}

impl Fold {
    /// An empty fold.
    #[must_use]
    pub fn new(codec: Box<dyn SessionCodec>, reducer: Reducer) -> Self {
        Self {
            codec,
            reducer,
            open_turn: false,
            left: HashSet::new(),
            carried: Carried::default(),
            pending_setup: None,
            events: Vec::new(),
        }
    }

    /// Takes one committed frame in.
    pub fn take(&mut self, logged: &LoggedFrame, parsed: Option<Parsed>) {
        self.events.clear();
        let mut left = false;
        let seen = Seen { origin: logged.origin, received_at: logged.received_at, position: logged.position };
        if logged.origin == Origin::Local {
            if let Some(record) = LocalRecord::read(&logged.frame) {
                match &record {
                    LocalRecord::StopRequested { ends_turn } => {
                        self.reducer.stop_requested(logged.received_at, *ends_turn);
                    }
                    LocalRecord::StopRefused => self.reducer.stop_refused(),
                    LocalRecord::StopConfirmed => self.reducer.stop_confirmed(logged.received_at, logged.position),
                    LocalRecord::TurnOpened { setup, .. } => {
                        self.open_turn = true;
                        self.set_up(setup.as_ref());
                    }
                    LocalRecord::AnswersOpened { answers, setup } => {
                        self.open_turn = true;
                        self.set_up(setup.as_ref());
                        self.left.retain(|left| answers.iter().all(|answered| answered.request != *left));
                    }
                    LocalRecord::AnswersLeft { requests } => self.left.extend(requests.iter().cloned()),
                    LocalRecord::AnswersBack { requests } => self.left.retain(|known| !requests.contains(known)),
                    LocalRecord::CarriedOut { request, digest, result } => {
                        self.carried.took(request.clone(), digest.clone(), result.clone());
                    }
                    LocalRecord::SetupChosen { setup, secrets } => self.choose_setup(setup, secrets),
                    LocalRecord::LetGo => self.reducer.let_go(logged.received_at),
                    LocalRecord::Dropped { .. } => self.open_turn = false,
                    // What became of it is found out by the next start.
                    LocalRecord::AppClosed => left = self.open_turn,
                    LocalRecord::Resumed { .. } | LocalRecord::Gap { .. } | LocalRecord::FallbackCards { .. } => {}
                }
                record.fold(self.codec.as_mut(), seen, &mut self.events);
                if let LocalRecord::AnswersOpened { answers, .. } = &record {
                    answers.iter().for_each(|answered| self.answered(answered, logged.position));
                }
            }
        } else {
            let parsed = parsed.unwrap_or_else(|| self.codec.parse(&logged.frame));
            self.codec.fold(parsed, seen, &mut self.events);
        }
        let place = Place { received_at: logged.received_at, position: logged.position };
        for event in self.events.drain(..) {
            self.open_turn &= match &event.body {
                EventBody::TurnEnded { .. } => false,
                // What a group asks is asked when nothing runs any more.
                EventBody::Request(seed) => seed.group.is_none(),
                _ => true,
            };
            self.reducer.apply(event, place);
        }
        self.open_turn |= left;
    }

    /// The changed setup that goes with what is sent next.
    fn choose_setup(&mut self, setup: &SessionSetup, secrets: &[String]) {
        let mut secrets = secrets.to_vec();
        // What was pasted before and has not been sent goes, too.
        let before = self.pending_setup.take().map(|before| before.secrets).unwrap_or_default();
        secrets.extend(before.into_iter().filter(|name| !secrets.contains(name)).collect::<Vec<_>>());
        self.pending_setup = Some(PendingSetup { setup: setup.clone(), secrets });
    }

    /// The server has taken a changed setup. What was changed since then is still to go.
    fn set_up(&mut self, setup: Option<&SessionSetup>) {
        let Some(setup) = setup else { return };
        let trusts_more = |pending: &PendingSetup| {
            let names = |setup: &SessionSetup| setup.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
            names(&pending.setup) == names(setup)
                && pending.setup.options == setup.options
                && pending.setup.own_tools == setup.own_tools
                && pending.setup.tools.iter().zip(&setup.tools).all(|(ours, sent)| sent.trusted || !ours.trusted)
        };
        self.pending_setup.take_if(|pending| trusts_more(pending));
        self.reducer.run.setup = Some(setup.clone());
        self.reducer.touch_header();
    }

    /// An answer of ours arrived with others: its request is settled, and what was carried out here is its result.
    fn answered(&mut self, answered: &Answered, position: i64) {
        let Answered { request, choice, reason, result } = answered;
        let output = result.iter().map(|text| Part::Text(whole(text))).collect::<Vec<_>>();
        let event_id = format!("answer-{request}@{position}");
        let settled = EventBody::Settled {
            request: request.clone(),
            choice: Some(*choice),
            reason: reason.clone(),
            event_id: event_id.clone(),
            output: output.clone(),
        };
        let plain = |body| Event { at: None, turn: None, thread: None, body };
        self.events.push(plain(settled));
        let ran = matches!(choice, ChoiceKind::AllowOnce | ChoiceKind::AllowAlways) && result.is_some();
        let call = self.reducer.requests.get(request).and_then(|known| known.item.clone());
        if let Some(call) = call.filter(|_| ran) {
            self.events.push(plain(EventBody::ToolResult { id: event_id, call, name: None, output, is_error: false }));
        }
    }

    /// Takes the whole log in. Gives the log mark it stands at.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn replay(&mut self, mut frames: FrameReader) -> Result<i64, StoreError> {
        while let Some(page) = frames.next().await? {
            for logged in &page {
                self.take(logged, None);
            }
            // A long log must not hold up the other sessions' tasks.
            tokio::task::yield_now().await;
        }
        Ok(frames.log_seq())
    }
}

fn whole(text: &str) -> Text {
    Text { text: text.to_owned(), chars: text.chars().count() as u64, handle: None }
}
