//! A fourth protocol, made from this folder alone and spoken end to end: turns that are the answer to what begins them,
//! one current session, a history that comes whole.

mod codec;
mod lapse;
mod protocol;
mod recovery;
mod server;

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use contract::{
    command::{
        CreateSession, NoArgs, PauseServer, QueuedAction, QueuedMessageAction, ReplaceToken, SendMessage, SessionRef,
    },
    connection::ConnectionState,
    error::ErrorCode,
    request::{ChoiceKind, DecidedBy, Fate, Request, RequestState},
    server::{ServerId, ServerOptions},
    session::{SessionId, SessionState, StopReason, StopState},
};
use engine::{Clock, Engine, EngineConfig, MemoryCredentials, SystemClock};
use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;
use tests::{
    rig::{config, decision, draft},
    view::View,
};

use self::{protocol::Toy, server::ToyServer};

/// An engine that speaks the toy's protocol and nothing else, and a toy server.
struct Rig {
    engine: Engine,
    toy: ToyServer,
    server: ServerId,
    dir: TempDir,
}

impl Rig {
    async fn start() -> Result<Self> {
        Self::start_at(Arc::new(SystemClock)).await
    }

    async fn start_at(clock: Arc<dyn Clock>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let toy = ToyServer::start().await?;
        let config = EngineConfig { clock, ..config(dir.path(), Arc::new(MemoryCredentials::default())) };
        let engine = Engine::start_speaking(config, vec![Box::new(Toy)]).await?;
        let server = engine.add_server(draft(&toy.base_url, "", ServerOptions::default())).await?;
        assert_eq!(server.protocol, "toy");
        Ok(Self { engine, toy, server: server.id, dir })
    }

    async fn restart(&mut self) -> Result<()> {
        self.restart_at(Arc::new(SystemClock)).await
    }

    async fn restart_at(&mut self, clock: Arc<dyn Clock>) -> Result<()> {
        self.engine.shutdown().await;
        let config = EngineConfig { clock, ..config(self.dir.path(), Arc::new(MemoryCredentials::default())) };
        self.engine = Engine::start_speaking(config, vec![Box::new(Toy)]).await.context("the engine does not start")?;
        Ok(())
    }

    /// Opens a session of the server.
    async fn open(&self, remote: &str) -> Result<View> {
        let session = self.engine.session_by_remote(&self.server, remote).await?;
        View::open(&self.engine, "main", session).await
    }

    /// A session with a run that does this, whose stream is open.
    async fn running(&self, steps: &str) -> Result<View> {
        let mut view = self.open("one").await?;
        self.say(view.session(), steps).await?;
        view.until("a running turn", runs).await?;
        Ok(view)
    }

    async fn say(&self, session: SessionId, text: &str) -> Result<()> {
        Ok(self.engine.send_message(SendMessage { session, text: text.to_owned(), images: Vec::new() }).await?)
    }
}

fn runs(view: &View) -> bool {
    matches!(view.header.row.state, SessionState::Running | SessionState::Waiting)
        && matches!(view.header.connection, ConnectionState::Live { .. })
}

fn is_over(view: &View) -> bool {
    view.header.row.state == SessionState::Idle && view.header.connection == ConnectionState::Closed
}

fn says(view: &View, line: &str) -> bool {
    view.text().lines().any(|said| said == line)
}

async fn card(view: &mut View) -> Result<Request> {
    view.until("a card", |view| view.open_requests().len() == 1).await?;
    Ok(view.open_requests()[0].clone())
}

fn stop_of(view: &View) -> Option<StopReason> {
    view.header.turn.as_ref().and_then(|turn| turn.stop.clone())
}

#[tokio::test]
async fn a_fourth_protocol_made_outside_the_app_runs_end_to_end() -> Result<()> {
    let mut rig = Rig::start().await?;
    let mut view = rig.running("say:Hello;ask:touch x;say:Done").await?;
    let request = card(&mut view).await?;
    assert_eq!(request.command.as_ref().map(|command| command.text.as_str()), Some("touch x"));
    assert_eq!(view.header.running_options, view.header.run_options);
    rig.engine.decide(decision(&request, "yes")).await?;
    view.until("the end of the turn", is_over).await?;
    view.until("the decision's fate", |view| view.decisions.values().any(|row| row.fate == Fate::Accepted)).await?;
    view.until("the last words", |view| says(view, "Agent Done: Done")).await?;
    let shown =
        "User Done: say:Hello;ask:touch x;say:Done\nAgent Done: Hello\nTool bash Done touch x: \nAgent Done: Done";
    assert_eq!(view.text(), shown);
    assert_eq!(view.header.running_options, None, "what was chosen for a run holds for no other");
    assert_eq!(rig.toy.posts("/say").len(), 1);
    assert_eq!(rig.toy.posts("/answer"), [json!({"id": "ask-1", "yes": true})]);

    // The log alone makes the same again, and the history adds nothing to it.
    drop(view);
    rig.restart().await?;
    let mut view = rig.open("one").await?;
    assert_eq!(view.text(), shown);
    view.until("a history that is in", |view| !view.header.loading_history).await?;
    rig.say(view.session(), "say:Again").await?;
    view.until("the second turn", |view| says(view, "Agent Done: Again") && is_over(view)).await?;
    assert_eq!(view.text(), format!("{shown}\nUser Done: say:Again\nAgent Done: Again"));
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_refused_waits_in_the_queue_with_the_servers_words_and_is_sent_on_the_persons_word()
-> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.open("one").await?;
    rig.toy.with(|world| world.refuse_say = Some(409));
    rig.say(view.session(), "say:Hello").await?;
    view.until("a held message", |view| view.header.queued.first().is_some_and(|message| message.held)).await?;
    view.until("the refusal", |view| says(view, "Notice Error Server: Not now.")).await?;
    assert!(!view.text().contains("User "), "{}", view.text());
    rig.toy.with(|world| world.refuse_say = None);
    let id = view.header.queued[0].id.clone();
    let release = QueuedMessageAction { session: view.session(), id, action: QueuedAction::Release };
    rig.engine.queued_message(release).await?;
    view.until("its answer", |view| says(view, "Agent Done: Hello")).await?;
    assert_eq!(rig.toy.posts("/say").len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_message_to_a_running_turn_steers_it_and_its_chip_turns_into_the_message() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.running("say:Hello;wait;say:Done").await?;
    rig.say(view.session(), "More").await?;
    view.until("the end", |view| says(view, "Agent Done: Done") && is_over(view)).await?;
    let wanted = ["User Done: More", "Agent Done: You said: More"];
    assert!(wanted.iter().all(|line| says(&view, line)), "{}", view.text());
    assert_eq!(view.text().matches("User").count(), 2, "{}", view.text());
    assert_eq!((rig.toy.posts("/say").len(), rig.toy.posts("/steer").len()), (1, 1));
    assert_eq!(view.header.queued, []);
    Ok(())
}

#[tokio::test]
async fn p23_a_stop_while_an_approval_waits_refuses_it_and_nothing_runs() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.running("ask:rm x;say:Never").await?;
    let request = card(&mut view).await?;
    rig.engine.stop_session(SessionRef { session: view.session() }).await?;
    view.until("a confirmed stop", |view| matches!(view.header.stop, StopState::Confirmed { .. }) && is_over(view))
        .await?;
    assert_eq!(stop_of(&view), Some(StopReason::Stopped));
    view.until("the refusal in the ledger", |view| view.decisions.values().any(|row| row.fate == Fate::Accepted))
        .await?;
    let row = view.decisions.values().next().context("no decision")?;
    assert_eq!((row.by, row.choice), (DecidedBy::Stop, ChoiceKind::Deny));
    let late = rig.engine.decide(decision(&request, "yes")).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::RequestSettled);
    assert_eq!(rig.toy.posts("/answer"), [json!({"id": "ask-1", "yes": false})]);
    assert!(!says(&view, "Agent Done: Never"));
    Ok(())
}

#[tokio::test]
async fn p23_a_stop_that_the_server_takes_and_never_ends_lets_the_stream_go() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.running("say:Hello;hang").await?;
    rig.engine.stop_session(SessionRef { session: view.session() }).await?;
    view.until("a confirmed stop", |view| matches!(view.header.stop, StopState::Confirmed { .. }) && is_over(view))
        .await?;
    assert_eq!(stop_of(&view), Some(StopReason::Stopped));
    rig.toy.until("a run that is over", |world| !world.talks["one"].running).await
}

#[tokio::test]
async fn an_approval_of_a_run_that_is_aside_is_answered_and_the_server_goes_back() -> Result<()> {
    let rig = Rig::start().await?;
    let mut one = rig.running("ask:touch one;say:One is done").await?;
    let request = card(&mut one).await?;
    let new = CreateSession {
        server: rig.server.clone(),
        agent: None,
        environment: None,
        title: None,
        message: "say:Hello;wait;say:Two is done".to_owned(),
        start: contract::setup::SessionStart::default(),
    };
    let two = rig.engine.create_session(new).await?;
    let mut two = View::open(&rig.engine, "second", two.session).await?;
    two.until("the second run", |view| runs(view) && says(view, "Agent Done: Hello")).await?;
    rig.toy.until("the second session", |world| world.talks["new-1"].running).await?;
    rig.toy.with(|world| world.current = "new-1".to_owned());
    rig.engine.decide(decision(&request, "yes")).await?;
    one.until("the first's end", |view| says(view, "Agent Done: One is done") && is_over(view)).await?;
    rig.toy.until("the way back", |world| world.current == "new-1").await?;
    rig.toy.open_gate("new-1");
    two.until("the second's end", |view| says(view, "Agent Done: Two is done") && is_over(view)).await?;
    Ok(())
}

#[tokio::test]
async fn a_run_of_another_client_is_followed_its_card_answered_and_its_transcript_read() -> Result<()> {
    let rig = Rig::start().await?;
    let other = reqwest::Client::new();
    let run = other.post(format!("{}/say", rig.toy.base_url)).json(&json!({"text": "ask:touch x;say:Theirs"}));
    let run = tokio::spawn(async move { anyhow::Ok(run.send().await?.text().await?) });
    rig.toy.until("its question", |world| world.talks["one"].ask.is_some()).await?;
    let mut view = rig.open("one").await?;
    let request = card(&mut view).await?;
    rig.engine.decide(decision(&request, "yes")).await?;
    view.until("what it said", |view| says(view, "Agent Done: Theirs")).await?;
    assert!(says(&view, "User Done: ask:touch x;say:Theirs"), "{}", view.text());
    assert!(matches!(view.requests[&request.id].state, RequestState::Accepted { .. }));
    assert!(run.await??.contains("event: end"));
    Ok(())
}

#[tokio::test]
async fn sessions_that_nobody_opened_are_left_where_they_are() -> Result<()> {
    let rig = Rig::start().await?;
    rig.toy.with(|world| {
        for n in 0..5 {
            world.talks.insert(format!("idle-{n}"), server::Talk::default());
        }
    });
    let mut view = rig.running("say:Hello;wait").await?;
    rig.engine.refresh_server(contract::command::ServerRef { server: rig.server.clone() }).await?;
    rig.toy.open_gate("one");
    view.until("the end", is_over).await?;
    let rows = rig.engine.overview("main", NoArgs {}).await?.sessions.len();
    assert!(rows >= 1);
    assert_eq!(rig.toy.with(|world| world.posts.iter().filter(|(path, _)| path.starts_with("/go")).count()), 0);
    Ok(())
}

#[tokio::test]
async fn what_would_stop_a_run_is_refused_until_the_person_agrees() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.running("say:Hello;wait").await?;
    let live = rig.engine.live_sessions();
    assert_eq!((live.count, live.harmless), (1, false));
    let pause = |stop_runs| PauseServer { server: rig.server.clone(), paused: true, stop_runs };
    assert_eq!(rig.engine.pause_server(pause(false)).await.unwrap_err().code, ErrorCode::StopsRuns);
    assert!(runs(&view));
    rig.engine.pause_server(pause(true)).await?;
    view.until("an interrupted turn", |view| stop_of(view) == Some(StopReason::Interrupted)).await?;
    rig.toy.until("a run that is over", |world| !world.talks["one"].running).await?;
    rig.engine.pause_server(PauseServer { paused: false, ..pause(false) }).await?;
    Ok(())
}

fn token(rig: &Rig, token: &str) -> ReplaceToken {
    ReplaceToken { server: rig.server.clone(), token: token.to_owned(), session_only: true, stop_runs: false }
}

#[tokio::test]
async fn logging_out_of_a_server_whose_run_it_stops_is_refused_until_the_person_agrees() -> Result<()> {
    let rig = Rig::start().await?;
    rig.engine.replace_token(token(&rig, "first")).await?;
    let mut view = rig.running("say:Hello;wait;say:Never").await?;
    let refused = rig.engine.replace_token(token(&rig, " ")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::StopsRuns);
    assert!(runs(&view));
    rig.engine.replace_token(ReplaceToken { stop_runs: true, ..token(&rig, "") }).await?;
    view.until("an interrupted turn", |view| stop_of(view) == Some(StopReason::Interrupted)).await?;
    rig.toy.until("a run that is over", |world| !world.talks["one"].running).await?;
    // Where there is no token, nobody logs out.
    rig.engine.replace_token(token(&rig, "")).await?;
    Ok(())
}

#[tokio::test]
async fn another_token_or_name_leaves_the_stream_of_a_run_alone() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.running("say:Hello;wait;say:Done").await?;
    rig.engine.replace_token(token(&rig, "another")).await?;
    rig.engine.retry_now(SessionRef { session: view.session() }).await?;
    rig.engine.wake();
    rig.toy.open_gate("one");
    view.until("the end", |view| says(view, "Agent Done: Done") && is_over(view)).await?;
    assert_eq!(stop_of(&view), Some(StopReason::EndTurn));
    assert_eq!(rig.toy.posts("/say").len(), 1);
    Ok(())
}

#[tokio::test]
async fn silence_cuts_no_stream_and_what_the_server_says_beside_it_is_read() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.running("say:Hello;wait;say:Done").await?;
    let before = rig.toy.with(|world| world.looks);
    crate::rows::pass(Duration::from_secs(31)).await;
    rig.toy.until("a look", |world| world.looks > before).await?;
    rig.toy.open_gate("one");
    view.until("the end", |view| says(view, "Agent Done: Done") && is_over(view)).await?;
    assert_eq!((stop_of(&view), rig.toy.posts("/say").len()), (Some(StopReason::EndTurn), 1));
    Ok(())
}

#[tokio::test]
async fn what_was_asked_for_during_a_turn_and_answered_after_it_starts_no_turn() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.running("say:Hello;wait;say:Done").await?;
    let before = rig.toy.with(|world| {
        world.slow_states = true;
        world.looks
    });
    crate::rows::pass(Duration::from_secs(31)).await;
    rig.toy.until("a look", |world| world.looks == before + 1).await?;
    rig.toy.open_gate("one");
    view.until("the end", |view| says(view, "Agent Done: Done") && is_over(view)).await?;
    rig.toy.with(|world| world.slow_states = false);
    rig.toy.until("another look", |world| world.looks > before + 1).await?;
    rig.say(view.session(), "say:Again").await?;
    view.until("the second turn", |view| says(view, "Agent Done: Again") && is_over(view)).await?;
    assert!(!view.text().contains("Interrupted"), "{}", view.text());
    Ok(())
}

#[tokio::test]
async fn a_session_the_server_does_not_go_to_says_why_and_is_opened_when_it_does() -> Result<()> {
    let rig = Rig::start().await?;
    rig.toy.with(|world| {
        world.stays = true;
        world.talks.insert("two".to_owned(), server::Talk::default());
    });
    let mut one = rig.running("say:Hello;wait").await?;
    rig.engine.refresh_server(contract::command::ServerRef { server: rig.server.clone() }).await?;
    let session = rig.engine.session_by_remote(&rig.server, "two").await?;
    let mut two = View::open(&rig.engine, "second", session).await?;
    two.until(
        "the server's words and the next try",
        |view| matches!(&view.header.connection, ConnectionState::Waiting { detail, .. } if detail == "A run goes on."),
    )
    .await?;
    rig.say(session, "say:Hello two").await?;
    rig.toy.open_gate("one");
    one.until("the first's end", is_over).await?;
    rig.engine.retry_now(SessionRef { session }).await?;
    two.until("the second's answer", |view| says(view, "Agent Done: Hello two") && is_over(view)).await?;
    assert_eq!(rig.toy.posts("/say").len(), 2);
    Ok(())
}
