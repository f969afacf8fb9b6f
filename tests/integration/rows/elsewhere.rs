//! P-05: what was settled elsewhere is read-only here, and a stale answer can never act on another request.

use anyhow::Result;
use contract::{
    error::ErrorCode,
    request::{ChoiceKind, DecidedBy, RequestState},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::rig::{Dialect, Rig, decision};

use super::{carried_out, waiting_rig, waiting_session};

/// Another client denies a request.
async fn deny_from_outside(rig: &Rig, dialect: Dialect, remote: &str, request: &str) -> Result<()> {
    let base = if dialect == Dialect::Qoder { rig.practice.base_url() } else { rig.practice.claude_base_url() };
    let event = json!({
        "type": "user.tool_confirmation", "tool_use_id": request, "result": "deny", "deny_message": "not on my watch",
    });
    reqwest::Client::new()
        .post(format!("{base}/sessions/{remote}/events"))
        .bearer_auth(rig.practice.token())
        .header("anthropic-version", "2023-06-01")
        .header("anthropic-beta", "managed-agents-2026-04-01")
        .header("content-type", "application/json")
        .body(json!({ "events": [event] }).to_string())
        .send()
        .await?
        .error_for_status()?;
    Ok(())
}

#[tokio::test]
async fn p05_a_request_answered_elsewhere_turns_read_only_and_says_how() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let (rig, remote, mut view, request) = waiting_rig(dialect).await?;
        deny_from_outside(&rig, dialect, &remote, &request.id).await?;
        view.until("the card settled elsewhere", |view| {
            let state = view.requests.get(&request.id).map(|request| &request.state);
            matches!(state, Some(RequestState::Elsewhere { choice: Some(ChoiceKind::Deny), .. }))
        })
        .await?;
        view.until("a row of the ledger", |view| !view.decisions.is_empty()).await?;
        let rows: Vec<_> = view.decisions.values().collect();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].by, rows[0].choice, rows[0].reason.as_deref()),
            (DecidedBy::Elsewhere, ChoiceKind::Deny, Some("not on my watch"))
        );

        let late = rig.engine.decide(decision(&request, "allow_once")).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::RequestSettled);
        assert_eq!(carried_out(&rig, &request.id), 1, "only the other client's answer reached the server");
    }
    Ok(())
}

#[tokio::test]
async fn p05_a_stale_answer_never_acts_on_another_request() -> Result<()> {
    let (rig, _, view, request) = waiting_rig(Dialect::Qoder).await?;
    let (_, other_view, other) = waiting_session(&rig).await?;
    drop(other_view);
    let code = async |decision| rig.engine.decide(decision).await.unwrap_err().code;

    let mut wrong_digest = decision(&request, "allow_once");
    wrong_digest.digest = other.digest.clone();
    assert_eq!(code(wrong_digest).await, ErrorCode::RequestChanged);
    let mut wrong_id = decision(&request, "allow_once");
    wrong_id.request = "evt_of_yesterday".to_owned();
    assert_eq!(code(wrong_id).await, ErrorCode::NotFound);
    let mut wrong_session = decision(&request, "allow_once");
    wrong_session.session = other.session;
    assert_eq!(code(wrong_session).await, ErrorCode::NotFound);
    let mut wrong_choice = decision(&request, "allow_once");
    wrong_choice.choice = "allow_everything".to_owned();
    assert_eq!(code(wrong_choice).await, ErrorCode::InvalidInput);

    assert_eq!(rig.control.counters().decisions, [], "nothing was sent");
    assert_eq!(rig.engine.waiting_requests(contract::command::NoArgs {}).await?.len(), 2, "both still wait");
    drop(view);
    Ok(())
}

#[tokio::test]
async fn p05_a_second_click_sends_nothing() -> Result<()> {
    let (rig, _, _view, request) = waiting_rig(Dialect::Qoder).await?;
    rig.engine.decide(decision(&request, "allow_once")).await?;
    let second = rig.engine.decide(decision(&request, "deny")).await.unwrap_err();
    assert_eq!(second.code, ErrorCode::RequestSettled);
    rig.control.until(|seen| seen.accepted(&request.id) == 1).await?;
    assert_eq!(rig.control.counters().decisions.len(), 1);
    Ok(())
}
