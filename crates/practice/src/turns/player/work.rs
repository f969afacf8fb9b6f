//! How work begins and ends: a turn of v3, from its request to its stop reason; and in v4 whatever lies in the inbox.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    Broken, Outcome, Player, Turned,
    tell::{Draft, Voice},
};
use crate::{
    runs::stream::Item,
    scenario::Step,
    session::now,
    turns::{
        Turns, TurnsFold, TurnsManner,
        desk::{Answer, Desk, Held, HeldCall, Letter, Running, Session},
        free,
        log::{Event, Failure, Mode},
        script,
        shape::{Content, Message},
    },
    world::World,
};

/// What a turn of v3 is about.
#[derive(Debug)]
pub(in crate::turns) enum Work {
    Message(Content),
    Answers {
        held: Held,
        answers: Vec<(HeldCall, Answer)>,
    },
    /// What the server gets nothing done with: it hangs (§7.7).
    Nothing,
}

/// What a session plays next for a message.
fn steps_for(session: &mut Session, content: &Content) -> VecDeque<Step> {
    if session.script.is_empty() {
        free::steps(&content.text(), content.images().len(), &session.setup)
    } else {
        script::part(&mut session.script)
    }
}

/// A place among what runs in a session, taken under the desk's lock: nobody comes between the look and the place.
pub(in crate::turns) struct Place {
    number: u64,
    manner: TurnsManner,
}

/// Takes a place in a session.
pub(in crate::turns) fn enter(desk: &mut Desk, session: &str, out: Option<mpsc::UnboundedSender<Item>>) -> Place {
    desk.turns += 1;
    let number = desk.turns;
    if let Some(session) = desk.session_mut(session) {
        session.running.insert(number, Running { out, cancel: CancellationToken::new(), hung: false });
    }
    Place { number, manner: desk.manner.clone() }
}

fn player(
    world: &Arc<World>,
    session: &str,
    place: Place,
    voice: Voice,
    outcome: Option<oneshot::Sender<Outcome>>,
) -> Player {
    Player {
        world: Arc::clone(world),
        session: session.to_owned(),
        number: place.number,
        manner: place.manner,
        voice,
        steps: VecDeque::new(),
        message: String::new(),
        outputs: Vec::new(),
        draft: Draft::default(),
        staged: Vec::new(),
        produced: Vec::new(),
        stop: None,
        outcome,
    }
}

/// Begins a turn of v3 in its place. It goes on by itself, whoever reads it.
pub(in crate::turns) fn begin(
    world: &Arc<World>,
    session: &str,
    work: Work,
    place: Place,
    turned: Turned,
) -> oneshot::Receiver<Outcome> {
    let (sender, outcome) = oneshot::channel();
    let player = player(world, session, place, Voice::Turn(turned), Some(sender));
    world.players.spawn(player.turn(work));
    outcome
}

/// Takes what came into the inbox of a v4 session. Gives the place of whoever has to work it off, where nobody does.
pub(in crate::turns) fn receive(desk: &mut Desk, id: &str, letter: Letter) -> Option<Place> {
    let interrupts = desk.manner.interrupts;
    let session = desk.session_mut(id)?;
    session.inbox.push_back(letter);
    let waits = session.held.is_some();
    for running in session.running.values() {
        // Calls that wait are answered before a newer message is looked at.
        if interrupts && !waits {
            running.cancel.cancel();
        }
    }
    session.running.is_empty().then(|| enter(desk, id, None))
}

/// Works the inbox of a v4 session off.
pub(in crate::turns) fn work_off(world: &Arc<World>, session: &str, place: Place) {
    let player = player(world, session, place, Voice::Session, None);
    world.players.spawn(player.inbox());
}

/// Goes on in a v4 session whose server was started again.
pub(in crate::turns) fn go_on(world: &Arc<World>, session: &str, place: Place) {
    let player = player(world, session, place, Voice::Session, None);
    world.players.spawn(player.inbox_behind_calls());
}

impl Player {
    /// One turn of v3.
    async fn turn(mut self, work: Work) {
        self.turn_start();
        let stop = self.world.stop.clone();
        let played = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            played = self.work(work) => Some(played),
        };
        match played {
            None => {}
            Some(Ok(())) => {
                let reason = self.stop.take().unwrap_or_else(|| "end_turn".to_owned());
                self.stopped(reason);
            }
            Some(Err(Broken::Waits)) => self.stopped("tool_use".to_owned()),
            Some(Err(Broken::Failed { .. })) if self.manner.faults.hidden_failures => {
                // What was staged is lost with the step.
                self.staged.clear();
                self.draft = Draft::default();
                self.hide_failure().await;
            }
            Some(Err(Broken::Failed { .. })) => {
                self.close_draft();
                self.stopped("error".to_owned());
            }
        }
        self.leave();
    }

    async fn work(&mut self, work: Work) -> Result<(), Broken> {
        match work {
            Work::Message(content) => {
                self.message = content.text();
                self.steps = self.with(|session| steps_for(session, &content));
                self.stage(Message::of("user", content));
            }
            Work::Answers { held, answers } => {
                self.message = held.message;
                self.outputs = held.outputs;
                for (call, answer) in &answers {
                    self.settle(call, answer.clone()).await;
                }
                self.follow(&answers, held.rest);
            }
            Work::Nothing => {
                self.hang().await;
                return Ok(());
            }
        }
        self.play().await
    }

    /// The turn is over, and whoever waits for its answer gets it.
    fn stopped(&mut self, reason: String) {
        self.commit();
        let pending = self.with(|session| {
            // Not running any more before anybody hears of the end.
            session.running.remove(&self.number);
            session.pending()
        });
        self.turn_stop(&reason);
        if let Some(outcome) = self.outcome.take() {
            let messages = std::mem::take(&mut self.produced);
            // Who asked may be gone.
            let _ = outcome.send(Outcome::Stopped { reason, messages, pending });
        }
    }

    /// §7.8: a plain 500, a clean end, or silence.
    async fn hide_failure(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            let _ = outcome.send(Outcome::Failed);
        }
        if matches!(&self.voice, Voice::Turn(turned) if turned.mode == Mode::Delta) {
            self.hang().await;
        }
    }

    /// Nothing comes any more, until the reader leaves or the server ends.
    async fn hang(&mut self) {
        self.with(|session| {
            if let Some(running) = session.running.get_mut(&self.number) {
                running.hung = true;
            }
        });
        let Voice::Turn(turned) = &self.voice else { return };
        let (out, stop) = (turned.out.clone(), self.world.stop.clone());
        tokio::select! {
            () = out.closed() => {}
            () = stop.cancelled() => {}
        }
    }

    fn leave(&self) {
        self.with(|session| {
            session.running.remove(&self.number);
        });
    }

    /// v4: waits for the answers to calls that were made before, and works the inbox off.
    async fn inbox_behind_calls(mut self) {
        let held = self.with(|session| session.held.clone());
        if let Some(held) = held {
            (self.message, self.outputs) = (held.message, held.outputs);
            let cancel = CancellationToken::new();
            self.with(|session| {
                if let Some(running) = session.running.get_mut(&self.number) {
                    running.cancel = cancel.clone();
                }
            });
            if !self.worked(cancel, true).await {
                return;
            }
        }
        self.inbox().await;
    }

    /// v4: works the inbox off, message by message.
    async fn inbox(mut self) {
        while let Some(cancel) = self.next_letter() {
            if !self.worked(cancel, false).await {
                return;
            }
        }
    }

    /// Plays what there is, first waiting for answers where calls are `held`. Gives `false` where the server ends.
    async fn worked(&mut self, cancel: CancellationToken, held: bool) -> bool {
        let stop = self.world.stop.clone();
        let work = async {
            if held {
                self.answered_one_by_one().await;
            }
            self.play().await
        };
        let played = tokio::select! {
            biased;
            () = stop.cancelled() => return false,
            () = cancel.cancelled() => None,
            played = work => Some(played),
        };
        match played {
            Some(Ok(()) | Err(Broken::Waits)) => self.close_draft(),
            Some(Err(Broken::Failed { code, message })) => {
                self.close_draft();
                let failure = self.stamped(Failure { code, message });
                self.log(Event::Error(failure));
            }
            None => self.cancelled(),
        }
        true
    }

    /// Takes the next message up, with what cancels the work on it. `None` = there is none, and this work is over.
    fn next_letter(&mut self) -> Option<CancellationToken> {
        let cancel = CancellationToken::new();
        let (id, number, name) = (self.world.turns.next_id("evt"), self.number, self.session.clone());
        // One look: a message that comes now is either taken here or finds nobody at work.
        let taken = self.world.turns.change(|desk| {
            let (fold, says) = (desk.manner.fold, desk.manner.idle_after_turn);
            let session = desk.session_mut(&name)?;
            let Some(letter) = session.inbox.pop_front() else {
                session.running.remove(&number);
                rest(session, fold, says.then_some(id));
                return None;
            };
            if let Some(running) = session.running.get_mut(&number) {
                running.cancel = cancel.clone();
            }
            session.gate.waiting = false;
            let steps = steps_for(session, &letter.content);
            Some((letter, steps))
        });
        let (letter, steps) = taken?;
        self.message = letter.content.text();
        self.steps = steps;
        self.outputs.clear();
        let mut entry = self.world.turns.entry(Message::of("user", letter.content));
        (entry.id, entry.timestamp) = (letter.id, letter.timestamp);
        self.staged.push(entry);
        Some(cancel)
    }
}

/// Nothing is left to do: what is not in the history joins it, and streams are told `idle` where it is given an id.
fn rest(session: &mut Session, fold: TurnsFold, idle: Option<String>) {
    if fold == TurnsFold::Idle {
        let unfolded = std::mem::take(&mut session.unfolded);
        session.history.extend(unfolded);
        session.fold();
    }
    if let Some(id) = idle {
        session.log.push(Event::Idle { id, timestamp: now() });
    }
}

/// The event that says that nothing is left to do.
pub(in crate::turns) fn idle(turns: &Turns) -> Event {
    Event::Idle { id: turns.next_id("evt"), timestamp: now() }
}
