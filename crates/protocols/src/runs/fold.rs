//! The fold: what frames say, taken into the running state of their session.
//!
//! A run is a turn. Its number is counted here, so that a log that is read again gives the same ids.

mod asked;
mod calls;
mod checks;
mod ends;
mod past;
mod run;
mod shown;

use contract::{
    event::{Event, EventBody},
    item::{MessageState, NoticeCode, NoticeLevel, Part, Role},
    session::{ContextMeter, RunOptions, SessionState, StopReason},
    wire::{Frame, Origin},
};

use self::{
    checks::Beside,
    run::Run,
    shown::Shown,
    told::{Told, named, notice, text_part},
};
use super::parse::{self, Form, Read, Said};
use crate::{Opened, Parsed, Seen, SessionCodec, reconcile::Piece, told};

/// The codec of one session.
#[derive(Debug, Default)]
pub(super) struct Codec {
    fold: Fold,
}

impl SessionCodec for Codec {
    fn parse(&self, frame: &Frame) -> Parsed {
        parse::parse(frame)
    }

    fn fold(&mut self, parsed: Parsed, seen: Seen, out: &mut Vec<Event>) {
        // A body of another protocol's codec cannot get here: the engine keeps one codec per session.
        if let Ok(read) = parsed.body.downcast::<Read>() {
            self.fold.take(*read, seen, out);
        }
    }

    fn turn_opened(&mut self, opened: &Opened, _seen: Seen, out: &mut Vec<Event>) {
        self.fold.opened(opened, out);
    }

    fn stopping(&mut self, is_asked_for: bool) {
        if let Some(run) = self.fold.run.as_mut().filter(|run| run.is_open) {
            run.is_stopping = is_asked_for;
        }
    }

    fn connection_lost(&mut self, out: &mut Vec<Event>) {
        self.fold.lost(out);
    }
}

/// The running state of one session.
#[derive(Debug, Default)]
struct Fold {
    /// Runs so far.
    runs: u64,
    /// The run that goes on, or the last one.
    run: Option<Run>,
    shown: Shown,
    beside: Beside,
    state: SessionState,
    /// Tokens there is room for, as a report said.
    window: Option<u64>,
    /// A history that came while a run of ours went on: it may be behind the stream, and is taken in after it.
    later: Option<String>,
}

impl Fold {
    fn opened(&mut self, opened: &Opened, out: &mut Vec<Event>) {
        let (options, message) = match opened {
            Opened::Message { id, text, images, options } => (options, Some((id, text, images))),
            Opened::Resume { options } => (options, None),
            // Each answer goes by itself here.
            Opened::Answers { .. } => return,
        };
        self.lost(out);
        self.ours_begins(out);
        let mut told = self.begin(Some(options), out);
        told.push(EventBody::RunOptions(options.clone()));
        if let Some((id, text, images)) = message {
            let mut parts = vec![text_part(text)];
            parts.extend(images.iter().map(|image| told::image(&image.media_type, &image.data)));
            self.shown.add(id, told.turn(), Piece::User(text.clone()), true);
            told.message(id, Role::User, parts, MessageState::Done);
            if let Some(run) = self.run.as_mut() {
                run.tell_start(&mut told);
            }
        }
        // A run that is taken up may have nothing to do: no turn is shown before something happens in it.
        told.status(&mut self.state, SessionState::Running);
    }

    /// A run of ours begins.
    fn begin<'a>(&mut self, options: Option<&RunOptions>, out: &'a mut Vec<Event>) -> Told<'a> {
        self.runs += 1;
        let run = Run::new(self.runs, options);
        let told = Told::new(Some(run.id.clone()), out);
        self.run = Some(run);
        told
    }

    fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_open)
    }

    /// Takes a frame in.
    fn take(&mut self, read: Read, seen: Seen, out: &mut Vec<Event>) {
        let Read { repaired, form, name, raw } = read;
        let frame_id = format!("frame:{}", seen.position);
        if repaired {
            let words = "Some bytes of this event were not valid text and were replaced.";
            let id = format!("utf8:{}", seen.position);
            Told::new(None, out).push(notice(id, NoticeLevel::Warning, NoticeCode::BadUtf8, words, None));
        }
        match form {
            Form::Said(Said::Unknown { what }) => {
                let turn = self.run.as_ref().filter(|run| run.is_open).map(|run| run.id.clone());
                Told::new(turn, out).push(EventBody::Unknown { id: frame_id, what, raw });
            }
            // Behind the last frame nothing should come: it begins no run that never ends.
            Form::Said(_) if seen.origin == Origin::Stream && self.run.as_ref().is_some_and(|run| !run.is_open) => {
                Told::new(None, out).push(EventBody::Unknown { id: frame_id, what: name, raw });
            }
            Form::Said(said) => self.said(said, seen, out),
            Form::End(end) => self.end(end, seen, out),
            // What the answers are named by means nothing in a stream.
            Form::Check(_) | Form::History if seen.origin == Origin::Stream => {
                Told::new(None, out).push(EventBody::Unknown { id: frame_id, what: name, raw });
            }
            Form::Check(check) => self.check(check, out),
            Form::History if self.is_running() => self.later = Some(raw),
            Form::History => self.history(&raw, seen, out),
            Form::Nothing => {}
            Form::Unreadable { cause } => {
                let words = format!("An event{} could not be read: {cause}.", named(&name));
                Told::new(None, out).push(EventBody::Unknown { id: frame_id, what: name.clone(), raw: raw.clone() });
                told::reread(seen, words, out);
                self.end_unread(&name, &raw, seen, out);
            }
            Form::Cut { size, kind, call } => {
                let words = format!(
                    "An event{} of {} bytes is over this server's cap; only its beginning is kept.",
                    named(&kind),
                    size.bytes
                );
                let (level, code) = (NoticeLevel::Warning, NoticeCode::TooLarge);
                Told::new(None, out).push(notice(format!("cut:{}", seen.position), level, code, &words, Some(&raw)));
                self.cut_request(&kind, call, &raw, out);
                told::reread(seen, words, out);
                self.end_unread(&name, "", seen, out);
            }
        }
    }

    /// Something of a run.
    fn said(&mut self, said: Said, seen: Seen, out: &mut Vec<Event>) {
        // A stream without a beginning should not be: it is a run all the same.
        let mut told = match self.run.as_ref().filter(|run| run.is_open) {
            Some(run) => Told::new(Some(run.id.clone()), out),
            None => self.begin(None, out),
        };
        let Some(run) = self.run.as_mut() else { return };
        if run.tell_start(&mut told) {
            told.status(&mut self.state, SessionState::Running);
        }
        match said {
            Said::Text(text) => {
                run.goes_on(&mut self.state, &mut told);
                run.write(&text, &mut self.shown, &mut told);
            }
            Said::ThinkingStarted => run.begin_thought(&mut told),
            Said::Thinking(text) => run.think(&text, &mut told),
            Said::ThinkingFinished => run.end_thought(&mut told),
            Said::ToolStarted { call, name, arguments, at_server } => {
                run.close_texts(MessageState::Done, &mut self.shown, &mut told);
                run.tool_started(call, name, arguments, at_server, &mut self.shown, &mut told);
            }
            Said::ToolFinished { call, name, ended } => {
                run.close_texts(MessageState::Done, &mut self.shown, &mut told);
                let id = format!("frame:{}", seen.position);
                run.tool_finished(&call, name.as_deref(), &ended, &id, &mut self.shown, &mut told);
                run.status_after(&mut self.state, &mut told);
            }
            Said::Approval { call, command, work_dir, approved } => {
                run.close_texts(MessageState::Done, &mut self.shown, &mut told);
                run.approval(&call, &command, work_dir, approved, &mut self.state, &mut told);
            }
            Said::Question { asked, is_answered } => {
                run.close_texts(MessageState::Done, &mut self.shown, &mut told);
                run.question(asked, is_answered, &mut self.state, &mut told);
            }
            Said::Used { usage, context } => {
                told.usage(usage, contract::event::UsageScope::Session);
                if let Some(used) = context {
                    let meter = ContextMeter { used, window: self.window, partial: false, shares: Vec::new() };
                    told.push(EventBody::Context(meter));
                }
            }
            Said::CompactionStarted => {
                run.close_texts(MessageState::Done, &mut self.shown, &mut told);
                run.begin_compaction(&mut self.shown, &mut told);
            }
            Said::Compacting(text) => run.compact(&text, &mut self.shown, &mut told),
            Said::Compacted { applied, summary } => {
                run.close_texts(MessageState::Done, &mut self.shown, &mut told);
                run.end_compaction(applied, summary, &mut self.shown, &mut told);
            }
            Said::Stopped { reason, message } => run.model_stopped(reason, message, &mut told),
            Said::Steered(text) => {
                run.close_texts(MessageState::Done, &mut self.shown, &mut told);
                run.steered(&text, &mut self.shown, &mut told);
            }
            Said::SteeringFinished => run.steering(contract::item::SteeringPhase::Finished, None, &mut told),
            Said::SteeringInterrupted(text) => {
                run.steering(contract::item::SteeringPhase::Interrupted, Some(text), &mut told);
            }
            Said::Notice { text, level } => run.notice(&text, level.as_deref(), &mut told),
            Said::Finished => run.is_finished = true,
            Said::Unknown { .. } => {}
        }
    }

    /// The stream broke. The server stops a run whose stream is closed (§8), and nothing can be replayed.
    fn lost(&mut self, out: &mut Vec<Event>) {
        let Some(run) = self.run.as_mut().filter(|run| run.is_open) else { return };
        let mut told = Told::new(Some(run.id.clone()), out);
        run.close_texts(MessageState::Incomplete, &mut self.shown, &mut told);
        self.over(StopReason::Interrupted, out);
    }
}

/// Parts of a message that is one text.
fn text_parts(text: &str) -> Vec<Part> {
    if text.is_empty() { Vec::new() } else { vec![text_part(text)] }
}
