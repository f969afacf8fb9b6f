//! One current session at a time: runs aside, runs of others, and what a server says of itself.

use anyhow::{Context as _, Result};
use contract::{
    command::{
        AskAside, ChangeServerSetting, CompleteMention, CreateSession, NoArgs, RenameSession, ServerSetting, SessionRef,
    },
    error::ErrorCode,
    item::{ItemBody, Part},
    server::{Server, ServerWarning},
};
use practice::{Generation, Permission, RunsManner};
use pretty_assertions::assert_eq;
use tests::{
    rig::{Rig, decision},
    view::View,
};

use super::{Stage, card, is_over, runs, says};

async fn server(rig: &Rig) -> Result<Server> {
    let overview = rig.engine.overview("main", NoArgs {}).await?;
    overview.servers.into_iter().find(|server| server.id == rig.server).context("no server")
}

fn new_session(rig: &Rig, message: &str) -> CreateSession {
    CreateSession {
        server: rig.server.clone(),
        agent: None,
        environment: None,
        title: None,
        message: message.to_owned(),
        start: contract::setup::SessionStart::default(),
    }
}

#[tokio::test]
async fn an_approval_of_a_run_that_is_aside_is_answered_and_both_runs_end() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let first = stage.card().await?;
    let two = stage.rig.engine.create_session(new_session(&stage.rig, "RUN:echo two")).await?;
    let mut two = View::open(&stage.rig.engine, "second", two.session).await?;
    let second = card(&mut two).await?;
    assert!(runs(&stage.view));
    stage.rig.engine.decide(decision(&first, "allow_once")).await?;
    stage.view.until("the first's end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    stage.rig.engine.decide(decision(&second, "allow_once")).await?;
    two.until("the second's end", |view| says(view, "The tool said: two") && is_over(view)).await?;
    assert_eq!(stage.posted("/runs/approvals"), 2);
    Ok(())
}

#[tokio::test]
async fn the_first_generation_refuses_another_session_while_a_run_goes_on_and_says_so() -> Result<()> {
    let mut stage = Stage::start(RunsManner::of(Generation::First)).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    let refused = stage.rig.engine.create_session(new_session(&stage.rig, "")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
    assert!(runs(&stage.view), "the run goes on");
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.view.until("its end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    stage.rig.engine.create_session(new_session(&stage.rig, "")).await?;
    Ok(())
}

#[tokio::test]
async fn a_run_of_another_client_is_followed_and_what_it_waits_for_is_answered_here() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    let prompt = reqwest::Client::new()
        .post(format!("{}/prompts", stage.rig.practice.runs_base_url()))
        .bearer_auth(stage.rig.practice.token())
        .json(&serde_json::json!({"text": "RUN:echo theirs", "approvals": {"mode": "ask"}}));
    let theirs = tokio::spawn(async move { anyhow::Ok(prompt.send().await?.text().await?) });
    stage.rig.control.runs().wait(None, Some(true), Some(true), None).await?;
    stage.rig.engine.retry_now(stage.which()).await?;
    let request = stage.card().await?;
    assert!(stage.view.header.foreign_run);
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.view.until("what it said, read", |view| says(view, "The tool said: theirs") && is_over(view)).await?;
    assert!(!stage.view.header.foreign_run);
    assert!(says(&stage.view, "User Done: RUN:echo theirs"), "{}", stage.view.text());
    assert!(theirs.await??.contains("event: result"));
    Ok(())
}

#[tokio::test]
async fn a_level_that_answers_for_the_person_is_warned_of_and_can_be_switched() -> Result<()> {
    let manner = RunsManner { permission: Permission::Deny, ..RunsManner::default() };
    let stage = Stage::start(manner).await?;
    let mut view = stage.view;
    while server(&stage.rig).await?.facts.permission.is_none() {
        view.step().await?;
    }
    let before = server(&stage.rig).await?;
    assert_eq!(before.warnings, [ServerWarning::CommandsRefused]);
    assert_eq!(before.facts.asking_permission.as_deref(), Some("ask"));
    assert!(before.facts.workspace.is_some() && before.facts.version.as_deref() == Some("0.2.0"));
    let setting = ServerSetting::Permission("ask".to_owned());
    stage.rig.engine.change_server_setting(ChangeServerSetting { server: before.id, setting }).await?;
    let after = server(&stage.rig).await?;
    assert_eq!((after.warnings, after.facts.permission.as_deref()), (Vec::new(), Some("ask")));
    Ok(())
}

#[tokio::test]
async fn what_is_done_to_a_session_beside_its_transcript_is_done_to_that_session() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.run("Hello").await?;
    stage.run("Again").await?;
    let which = stage.which();
    let two = stage.rig.engine.create_session(new_session(&stage.rig, "")).await?;
    let engine = &stage.rig.engine;
    let title = "The first".to_owned();
    engine.rename_session(RenameSession { session: which.session, title: title.clone() }).await?;
    stage.view.until("the title", |view| view.header.row.title.as_deref() == Some("The first")).await?;
    let copy = engine.fork_session(which).await?;
    assert!(![which, two].contains(&copy));
    let mut copied = View::open(engine, "copy", copy.session).await?;
    copied.until("the copy's transcript", |view| says(view, "Hello! You said: Hello")).await?;
    let answer = engine.ask_aside(AskAside { session: which.session, question: "Why?".to_owned() }).await?;
    assert!(!answer.answer.is_empty());
    assert!(!says(&stage.view, &answer.answer), "it is kept nowhere");
    let context = engine.session_context(which).await?.context("no meter")?;
    stage.view.until("the meter", |view| view.header.context.as_ref() == Some(&context)).await?;
    engine.complete_mention(CompleteMention { session: which.session, query: "s".to_owned() }).await?;
    let folder = tempfile::tempdir()?;
    let first = engine.export_session(which, folder.path()).await?;
    let second = engine.export_session(which, folder.path()).await?;
    assert_ne!(first.path, second.path);
    assert_eq!(std::fs::metadata(&first.path)?.len(), first.bytes);
    let compaction = engine.compact_session(which).await?;
    assert!(compaction.applied, "{compaction:?}");
    assert_eq!(compaction.summary.as_deref(), Some("So far the person asked: Hello; Again"));
    assert_eq!((compaction.compressed, compaction.kept), (Some(4), Some(0)));
    assert_eq!(compaction.before.as_ref(), Some(&context));
    assert_eq!(compaction.after.as_ref().and_then(|meter| meter.window), ROOM);
    engine.name_session(SessionRef { session: which.session }).await?;
    Ok(())
}

const ROOM: Option<u64> = Some(128_000);

#[tokio::test]
async fn a_meter_shows_the_room_of_the_model_in_use_before_the_server_has_said_it_of_the_session() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    // What was used comes with the run's events, which do not say how much there is.
    stage.view.until("a meter", |view| view.header.context.is_some()).await?;
    stage.view.until("its room", |view| view.header.context.as_ref().is_some_and(|meter| meter.window == ROOM)).await?;
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.view.until("its end", is_over).await?;
    Ok(())
}

#[tokio::test]
async fn the_meter_is_read_when_a_run_of_ours_has_ended_and_never_because_a_session_was_opened() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    let has_shares = |view: &View| view.header.context.as_ref().is_some_and(|meter| !meter.shares.is_empty());
    stage.run("Hello").await?;
    stage.view.until("what fills it", has_shares).await?;
    let measured = stage.view.header.context.clone();
    let read = stage.rig.control.counters().measured;
    assert_eq!(read, 1);

    // It is in the record: nothing has to be asked for it again.
    let Stage { mut rig, remote, view } = stage;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    assert_eq!(view.header.context, measured);
    view.until("a history that is in", |view| !view.header.loading_history).await?;
    assert_eq!(rig.control.counters().measured, read);
    rig.engine.session_context(SessionRef { session: view.session() }).await?;
    assert_eq!(rig.control.counters().measured, read + 1);
    Ok(())
}

#[tokio::test]
async fn images_go_with_their_message_and_survive_a_restart_in_the_queue() -> Result<()> {
    let manner = RunsManner { multimodal: true, ..RunsManner::default() };
    let mut stage = Stage::start(manner).await?;
    let image = |media_type: &str| contract::command::SentImage {
        media_type: media_type.to_owned(),
        data: "iVBORw0KGgo=".to_owned(),
    };
    let send = |image| contract::command::SendMessage {
        session: stage.view.session(),
        text: "Look".to_owned(),
        images: vec![image],
    };
    let refused = stage.rig.engine.send_message(send(image("image/svg+xml"))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidInput);
    let act = practice::RequestAct::Status { status: 409, body: practice::FaultBody::Json, retry_after: None };
    stage.rig.control.fail_next("POST", "/runs/prompts", act);
    stage.rig.engine.send_message(send(image("image/png"))).await?;
    stage.view.until("a held message", |view| view.header.queued.first().is_some_and(|kept| kept.held)).await?;
    let Stage { mut rig, remote, view } = stage;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    assert_eq!(view.header.queued[0].images, 1, "what waits says what goes with it");
    let id = view.header.queued[0].id.clone();
    let action = contract::command::QueuedAction::Release;
    let release = contract::command::QueuedMessageAction { session: view.session(), id, action };
    rig.engine.queued_message(release).await?;
    view.until("the answer", |view| says(view, "Hello! You said: Look")).await?;
    let shown = view.ordered().into_iter().any(|item| match &item.body {
        ItemBody::Message(message) => message.parts.iter().any(|part| matches!(part, Part::Image { .. })),
        _ => false,
    });
    assert!(shown, "{}", view.text());
    let sent = rig.control.counters().posts.into_iter().rfind(|post| post.path.ends_with("/prompts"));
    assert_eq!(sent.context("no prompt")?.body["images"][0]["media_type"], "image/png");
    Ok(())
}

#[tokio::test]
async fn a_server_without_a_model_is_online_and_says_what_it_lacks() -> Result<()> {
    let rig = Rig::start_runs(RunsManner { ready: false, ..RunsManner::default() }).await?;
    let feed = rig.engine.attach_window("main");
    while server(&rig).await?.warnings.is_empty() {
        feed.next().await.context("the feed ended")?;
    }
    let server = server(&rig).await?;
    assert_eq!((server.warnings, server.facts.no_model), (vec![ServerWarning::NoModel], true));
    assert_eq!(server.state, contract::server::ServerState::Online);
    Ok(())
}
