//! What a run asks the person: commands and questions (runs-server page, §6).
//!
//! A request's id is the run, a colon, and the server's id for the call, which alone goes back to the server.

use contract::{
    event::{EventBody, RequestSeed},
    item::{Marker, RuledOn, ToolState},
    request::{Choice, ChoiceKind, Question, RequestKind, Scope},
    session::{QuestionMode, SessionState},
};

use super::{
    run::Run,
    told::{Told, whole},
};
use crate::runs::parse::{self, Asked};

/// A request of a run.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    /// The server's id.
    pub call: String,
    pub seed: RequestSeed,
    /// Nothing said that it is settled.
    pub is_open: bool,
}

impl Run {
    /// A command may be asked about, or a rule has answered already.
    pub(super) fn approval(
        &mut self,
        call: &str,
        command: &str,
        work_dir: Option<String>,
        approved: Option<bool>,
        state: &mut SessionState,
        told: &mut Told<'_>,
    ) {
        if let Some(allowed) = approved {
            self.ruled(RuledOn::Command, allowed, command, told);
            if let (false, Some(known)) = (allowed, self.call(call).filter(|known| known.is_open)) {
                let call = known.item.clone();
                told.push(EventBody::ToolEnded { call, state: ToolState::Denied { reason: None } });
            }
            return;
        }
        let known = self.call(call);
        let seed = approval_seed(
            self.request_id(call),
            Of {
                item: Some(known.map_or_else(|| self.item_for(call), |known| known.item.clone())),
                tool: known.map(|known| known.name.clone()),
                arguments: known.map(|known| known.arguments.as_str()),
            },
            command,
            work_dir,
            self.answer_timeout_ms,
        );
        self.ask(call, seed, state, told);
    }

    /// A question. The frame looks the same where the server declines it by itself, so what this run was asked for
    /// decides (§6).
    pub(super) fn question(&mut self, asked: Asked, is_answered: bool, state: &mut SessionState, told: &mut Told<'_>) {
        if self.questions == QuestionMode::Decline || is_answered {
            return self.ruled(RuledOn::Question, is_answered, &asked.question, told);
        }
        let item = match self.call(&asked.call).filter(|known| known.is_open) {
            Some(known) => known.item.clone(),
            // Its call is told behind it.
            None => self.item_for(&asked.call),
        };
        let seed = question_seed(self.request_id(&asked.call), Some(item), &asked);
        self.ask(&asked.call, seed, state, told);
    }

    pub(super) fn ask(&mut self, call: &str, seed: RequestSeed, state: &mut SessionState, told: &mut Told<'_>) {
        let id = seed.id.clone();
        self.asked.retain(|asking| asking.seed.id != id);
        self.asked.push(Asking { call: call.to_owned(), seed: seed.clone(), is_open: true });
        told.status(state, SessionState::Waiting);
        told.push(EventBody::Request(Box::new(seed)));
        // One at a time (§6): what was asked before is settled, though its end may come later.
        told.push(EventBody::Waiting { requests: vec![id] });
    }

    fn ruled(&mut self, on: RuledOn, allowed: bool, subject: &str, told: &mut Told<'_>) {
        let id = self.line();
        told.marker(id, Marker::Ruled { on, allowed, subject: whole(subject) });
    }

    /// The id for a request about this call: another one where an earlier request about such a call is settled.
    fn request_id(&self, call: &str) -> String {
        let settled = self.asked.iter().filter(|asking| asking.call == call && !asking.is_open).count();
        numbered(&self.id, settled, call)
    }

    /// What was asked about this call is settled; by whom is the reducer's to know.
    pub(super) fn settle(&mut self, call: &str, event_id: &str, told: &mut Told<'_>) {
        for asking in self.asked.iter_mut().filter(|asking| asking.call == call && asking.is_open) {
            asking.is_open = false;
            told.push(settled(&asking.seed.id, event_id));
        }
    }

    /// The same for all.
    pub(super) fn settle_all(&mut self, told: &mut Told<'_>) {
        let open: Vec<String> =
            self.asked.iter().filter(|asking| asking.is_open).map(|asking| asking.call.clone()).collect();
        for call in open {
            self.settle(&call, &self.id.clone(), told);
        }
    }

    /// After an end of a call: the run goes on where nothing is asked any more.
    pub(super) fn status_after(&self, state: &mut SessionState, told: &mut Told<'_>) {
        if *state == SessionState::Waiting && !self.asked.iter().any(|asking| asking.is_open) {
            told.status(state, SessionState::Running);
        }
    }

    /// The server says whether it can remember the answer: told again with the right choices.
    pub(super) fn remembers(&mut self, call: &str, can_remember: bool, told: &mut Told<'_>) {
        let Some(asking) = self.asked.iter_mut().rfind(|asking| asking.call == call && asking.is_open) else { return };
        if asking.seed.kind == RequestKind::Approval && !can_remember {
            let choices = approval_choices(false);
            if asking.seed.choices != choices {
                asking.seed.choices = choices;
                told.push(EventBody::Request(Box::new(asking.seed.clone())));
            }
        }
    }
}

/// What an approval is about, as far as it is known.
pub(super) struct Of<'a> {
    pub item: Option<String>,
    pub tool: Option<String>,
    pub arguments: Option<&'a str>,
}

/// The seed for a command.
pub(super) fn approval_seed(
    id: String,
    of: Of<'_>,
    command: &str,
    work_dir: Option<String>,
    deadline_ms: Option<u64>,
) -> RequestSeed {
    RequestSeed {
        id,
        kind: RequestKind::Approval,
        item: of.item,
        tool: of.tool,
        source: None,
        arguments: bound_arguments(of.arguments, command),
        command: Some(command.to_owned()),
        work_dir,
        questions: Vec::new(),
        choices: approval_choices(true),
        answerable: true,
        deadline_ms,
        too_large: false,
        group: None,
        own_tool: None,
    }
}

/// What is approved is the command as it was asked about. Where the call's own arguments say another, or nothing, the
/// command goes with them, so that the digest holds it.
fn bound_arguments(arguments: Option<&str>, command: &str) -> String {
    let quoted = serde_json::Value::from(command).to_string();
    let Some(raw) = arguments else { return format!("{{\"command\":{quoted}}}") };
    let says = crate::json::Fields::read(raw)
        .ok()
        .filter(|fields| fields.count("command") == 1)
        .and_then(|fields| fields.text("command").map(|text| text == command));
    if says == Some(true) { raw.to_owned() } else { format!("{{\"command\":{quoted},\"arguments\":{raw}}}") }
}

/// The seed for a question. It waits for as long as it takes.
pub(super) fn question_seed(id: String, item: Option<String>, asked: &Asked) -> RequestSeed {
    RequestSeed {
        id,
        kind: RequestKind::Question,
        item,
        tool: None,
        source: None,
        arguments: asked.payload.clone(),
        command: None,
        work_dir: None,
        questions: vec![Question {
            id: "question".to_owned(),
            text: asked.question.clone(),
            options: asked.options.clone(),
            multiple: asked.multiple,
            free_text: true,
        }],
        choices: vec![choice("answer", ChoiceKind::Answer, None), choice("decline", ChoiceKind::Decline, None)],
        answerable: true,
        deadline_ms: None,
        too_large: false,
        group: None,
        own_tool: None,
    }
}

/// The seed for what is known in part only: it can only be refused.
pub(super) fn cut_seed(id: String, is_question: bool, beginning: &str) -> RequestSeed {
    let refusal =
        if is_question { choice("decline", ChoiceKind::Decline, None) } else { choice("deny", ChoiceKind::Deny, None) };
    RequestSeed {
        id,
        kind: RequestKind::Fallback,
        item: None,
        tool: None,
        source: None,
        arguments: beginning.to_owned(),
        command: None,
        work_dir: None,
        questions: Vec::new(),
        choices: vec![refusal],
        answerable: true,
        deadline_ms: None,
        too_large: true,
        group: None,
        own_tool: None,
    }
}

/// "Always" is offered unless the server says that it cannot remember.
pub(super) fn approval_choices(can_remember: bool) -> Vec<Choice> {
    let always = || choice("allow_always", ChoiceKind::AllowAlways, Some(Scope::CommandTextUntilServerEnds));
    [choice("allow_once", ChoiceKind::AllowOnce, None), choice("deny", ChoiceKind::Deny, None)]
        .into_iter()
        .chain(can_remember.then(always))
        .collect()
}

fn choice(id: &str, kind: ChoiceKind, scope: Option<Scope>) -> Choice {
    Choice { id: id.to_owned(), kind, label: None, scope, takes_reason: false }
}

/// `run3:call`, and from the second time on `run3.2:call`.
pub(super) fn numbered(of: &str, before: usize, call: &str) -> String {
    if before == 0 { format!("{of}:{call}") } else { format!("{of}.{}:{call}", before + 1) }
}

pub(super) fn settled(request: &str, event_id: &str) -> EventBody {
    EventBody::Settled {
        request: request.to_owned(),
        choice: None,
        reason: None,
        event_id: event_id.to_owned(),
        output: Vec::new(),
    }
}

/// The seed for what a run waits for, as a check tells it: the time it may take is not known.
pub(super) fn pending_seed(id: String, of: Of<'_>, pending: &parse::Pending) -> RequestSeed {
    match pending {
        parse::Pending::Question(asked) => question_seed(id, of.item, asked),
        parse::Pending::Approval { command, work_dir, can_remember, .. } => {
            let mut seed = approval_seed(id, of, command, work_dir.clone(), None);
            seed.choices = approval_choices(*can_remember);
            seed
        }
    }
}
