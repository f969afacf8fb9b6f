//! The whole path: from bytes on the wire to a decision and back.

use anyhow::Result;
use contract::{
    item::{ItemBody, ToolState},
    request::{Fate, RequestState},
    session::SessionState,
};
use pretty_assertions::assert_eq;
use tests::rig::{Dialect, Rig, decision};

#[tokio::test]
async fn an_approval_travels_from_the_wire_to_a_decision_and_back() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let rig = Rig::start(dialect).await?;
        let (remote, mut view) = rig.play("approval", &[]).await?;
        view.until("an open request", |view| !view.open_requests().is_empty()).await?;
        let request = view.open_requests()[0].clone();
        assert_eq!(view.header.row.state, SessionState::Waiting);
        let shown = rig.engine.decide(decision(&request, "allow_once")).await?;
        assert!(matches!(shown.state, RequestState::Sending { .. } | RequestState::Accepted { .. }), "{shown:?}");
        view.until("the end of the turn", |view| {
            view.header.row.state == SessionState::Idle && view.open_requests().is_empty()
        })
        .await?;
        view.until("the decision's fate", |view| view.decisions.values().any(|row| row.fate == Fate::Accepted)).await?;
        let seen = rig.control.counters();
        assert_eq!(seen.decisions.len(), 1, "{dialect:?}: {remote}");
        // Items follow behind what waits: the header may be ahead of them for a moment.
        let done = |tool: &ToolState| *tool == ToolState::Done;
        view.until("the call's result", |view| {
            view.items.values().any(|item| matches!(&item.body, ItemBody::Tool(tool) if done(&tool.state)))
        })
        .await?;
        rig.engine.shutdown().await;
        rig.practice.stop().await;
    }
    Ok(())
}
