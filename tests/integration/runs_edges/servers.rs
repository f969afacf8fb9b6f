//! Settings, sessions and tokens of the server (numbers 16 to 18).

use anyhow::{Context as _, Result};
use contract::{
    command::{CreateSession, NoArgs, ReplaceToken, ServerRef, SessionRef},
    connection::ConnectionState,
    request::{Fate, RequestState},
    server::{Server, ServerState, ServerWarning},
};
use practice::{FaultBody, Permission, RequestAct, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{
    rig::{Rig, decision},
    view::View,
};

use super::hand::{emit, held, ran, shown};
use crate::runs::{Stage, card, is_over, runs, says};

async fn server(rig: &Rig) -> Result<Server> {
    let overview = rig.engine.overview("main", NoArgs {}).await?;
    overview.servers.into_iter().find(|server| server.id == rig.server).context("no server")
}

#[tokio::test]
async fn runs_edge_16_a_level_under_which_nobody_is_asked_is_warned_of() -> Result<()> {
    let levels = [
        (Permission::Ask, "ask", Vec::new()),
        (Permission::Deny, "deny", vec![ServerWarning::CommandsRefused]),
        (Permission::Safe, "safe", vec![ServerWarning::CommandsNotAsked]),
        (Permission::Full, "full", vec![ServerWarning::CommandsNotAsked]),
    ];
    let mut stage = Stage::start(RunsManner::default()).await?;
    for (permission, word, warnings) in levels {
        // Somebody else switches it: seen with the next look at the server.
        stage.rig.control.runs().set_manner(RunsManner { permission, ..RunsManner::default() });
        stage.rig.engine.refresh_server(ServerRef { server: stage.rig.server.clone() }).await?;
        while server(&stage.rig).await?.facts.permission.as_deref() != Some(word) {
            stage.view.step().await?;
        }
        assert_eq!(server(&stage.rig).await?.warnings, warnings, "{word}");
    }
    Ok(())
}

#[tokio::test]
async fn runs_edge_17_a_copy_is_not_where_the_next_message_goes() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    ran(&mut stage, "First").await?;
    let copy = stage.rig.engine.fork_session(stage.which()).await?;
    ran(&mut stage, "Second").await?;
    let mut copied = View::open(&stage.rig.engine, "copy", copy.session).await?;
    copied.until("the copy", |view| says(view, "You said: First") && !view.header.loading_history).await?;
    assert!(!says(&copied, "Second"), "{}", copied.text());
    assert!(says(&stage.view, "You said: Second"));
    crate::runs::say(&stage.rig, &copied, "Third").await?;
    copied.until("its own answer", |view| says(view, "You said: Third") && is_over(view)).await?;
    assert!(!says(&stage.view, "Third"));
    Ok(())
}

#[tokio::test]
async fn runs_edge_17_a_session_without_title_and_times_is_there_before_the_list_knows_it() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    ran(&mut stage, "Hello").await?;
    let create = CreateSession {
        server: stage.rig.server.clone(),
        agent: None,
        environment: None,
        title: None,
        message: String::new(),
        start: contract::setup::SessionStart::default(),
    };
    let SessionRef { session } = stage.rig.engine.create_session(create).await?;
    let mut view = View::open(&stage.rig.engine, "new", session).await?;
    assert_eq!(view.header.row.title, None);
    stage.rig.engine.refresh_server(ServerRef { server: stage.rig.server.clone() }).await?;
    let asked = stage.rig.control.counters().requests;
    stage.rig.control.until(|seen| seen.requests > asked).await?;
    assert_eq!(view.header.closed, None, "a list without it is no word of its end");
    crate::runs::say(&stage.rig, &view, "There?").await?;
    view.until("the answer", |view| says(view, "You said: There?") && is_over(view)).await?;
    assert_eq!(view.header.closed, None);
    Ok(())
}

#[tokio::test]
async fn runs_edge_18_a_refused_token_keeps_the_stream_and_the_answer_goes_out_with_the_next() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    stage.rig.control.rotate_token("another");
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    while server(&stage.rig).await?.state != ServerState::Unauthorized {
        stage.view.step().await?;
    }
    // The stream is fine: what comes on it is shown.
    emit(&stage, &[json!({"type": "notice", "text": "Meanwhile", "level": "info"})])?;
    stage.view.until("what comes meanwhile", |view| says(view, "Meanwhile")).await?;
    assert!(matches!(stage.view.header.connection, ConnectionState::Live { .. }), "{:?}", stage.view.header.connection);
    assert!(matches!(stage.view.requests[&request.id].state, RequestState::Sending { .. }));
    let token = ReplaceToken {
        server: stage.rig.server.clone(),
        token: "another".into(),
        session_only: true,
        stop_runs: false,
    };
    stage.rig.engine.replace_token(token).await?;
    stage.view.until("its end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    assert_eq!((stage.posted("/prompts"), stage.posted("/runs/approvals")), (1, 1));
    stage.view.until("the fate", |view| view.decisions.values().map(|row| row.fate.clone()).eq([Fate::Accepted])).await
}

#[tokio::test]
async fn runs_edge_18_a_message_that_meets_a_refused_token_waits() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    let refused = RequestAct::Status { status: 401, body: FaultBody::Json, retry_after: None };
    stage.rig.control.fail_next("POST", "/runs/steer", refused);
    stage.say("And this").await?;
    stage.view.until("a held message", |view| view.header.queued.first().is_some_and(|kept| kept.held)).await?;
    shown(&mut stage).await?;
    assert!(runs(&stage.view), "{:?}", stage.view.header);
    assert!(!says(&stage.view, "User Done: And this") && !says(&stage.view, "User Queued"), "{}", stage.view.text());
    assert_eq!(stage.posted("/runs/steer"), 0);
    Ok(())
}

#[tokio::test]
async fn runs_edge_16_a_card_of_a_server_that_asks_is_there_after_the_switch() -> Result<()> {
    let mut stage = Stage::start(RunsManner { permission: Permission::Deny, ..RunsManner::default() }).await?;
    ran(&mut stage, "RUN:echo one").await?;
    assert_eq!(stage.view.requests.len(), 0);
    let setting = contract::command::ServerSetting::Permission("ask".to_owned());
    let change = contract::command::ChangeServerSetting { server: stage.rig.server.clone(), setting };
    stage.rig.engine.change_server_setting(change).await?;
    stage.say("RUN:echo one").await?;
    card(&mut stage.view).await?;
    Ok(())
}
