//! Goals (outcomes): the agent works, is judged, works again (wire page §7 and §9, "Outcome").

use serde_json::{Value, json};

use super::{pause, say};
use crate::{
    scenario::{Step, Verdict},
    session::{Cell, Goal, Item, State, now},
    voice::{self, Tokens},
};

/// What the agent does with a goal the person set: one revision, then satisfied, unless only one try is allowed.
pub(crate) fn steps(goal: &Goal) -> Vec<Step> {
    let verdict = |say: &str, result: &str, explanation: &str| Verdict {
        say: say.into(),
        result: result.into(),
        explanation: explanation.into(),
    };
    let verdicts = if goal.max_iterations == 1 {
        vec![verdict("A first draft.", "max_iterations_reached", "The draft misses a point of the rubric.")]
    } else {
        vec![
            verdict("A first draft.", "needs_revision", "The draft misses a point of the rubric."),
            verdict("The draft, with the missing point.", "satisfied", "Every point of the rubric is met."),
        ]
    };
    vec![Step::Judge { outcome_id: goal.id.clone(), verdicts }]
}

/// The script sets a goal itself.
pub(crate) fn define(cell: &Cell, description: &str, rubric: &str, verdicts: Vec<Verdict>) {
    cell.change(|state| {
        let id = state.id("outc");
        let rubric = json!({"type": "text", "content": rubric});
        let payload = voice::outcome(state.manner.form, &id, description, &rubric, 3);
        state.emit(None, "user.define_outcome", payload);
        state.profile.outcomes.push(json!({
            "type": "outcome_evaluation", "outcome_id": id, "description": description,
            "iteration": 0, "result": "pending", "explanation": null, "completed_at": null,
        }));
        state.program.items.push_front(Item { thread: None, step: Step::Judge { outcome_id: id, verdicts } });
        state.touch();
    });
}

/// Works and is judged, once per verdict.
pub(crate) async fn judge(cell: &Cell, thread: Option<&str>, outcome: &str, verdicts: &[Verdict]) {
    for (iteration, verdict) in verdicts.iter().enumerate() {
        say::say(cell, thread, &verdict.say, 40).await;
        let start = cell.change(|state| {
            state.close_span(thread, false);
            let payload = json!({"outcome_id": outcome, "iteration": iteration});
            state.emit(None, "span.outcome_evaluation_start", payload)
        });
        pause(cell, 400).await;
        cell.change(|state| {
            let payload = json!({"outcome_id": outcome, "iteration": iteration});
            state.emit(None, "span.outcome_evaluation_ongoing", payload);
        });
        pause(cell, 600).await;
        cell.change(|state| end(state, outcome, iteration, &start, verdict));
    }
}

fn end(state: &mut State, outcome: &str, iteration: usize, start: &str, verdict: &Verdict) {
    let tokens = Tokens { input: 900, output: 60, ..Tokens::default() };
    state.profile.tokens.add(tokens);
    state.emit(
        None,
        "span.outcome_evaluation_end",
        json!({
            "outcome_id": outcome, "iteration": iteration, "result": verdict.result,
            "explanation": verdict.explanation, "outcome_evaluation_start_id": start, "usage": tokens.json(),
        }),
    );
    let is_it = |known: &&mut Value| known.get("outcome_id").and_then(Value::as_str) == Some(outcome);
    if let Some(fields) = state.profile.outcomes.iter_mut().find(is_it).and_then(Value::as_object_mut) {
        fields.insert("iteration".into(), iteration.into());
        fields.insert("result".into(), verdict.result.clone().into());
        fields.insert("explanation".into(), verdict.explanation.clone().into());
        if verdict.result != "needs_revision" {
            fields.insert("completed_at".into(), now().into());
        }
    }
    state.touch();
}
