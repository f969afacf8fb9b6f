//! Properties that hold whatever the connection does: the same session gives the same transcript.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use contract::{command::SessionRef, connection::ConnectionState, item::ItemBody, session::SessionState};
use practice::{Command, StreamAct, StreamFault};
use pretty_assertions::assert_eq;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tests::{
    rig::{Dialect, Rig, decision},
    view::{View, line},
};

/// What happens to the first streams of a session.
#[derive(Debug, Clone)]
struct Trouble {
    /// Each of the first streams breaks after so many bytes.
    cuts: Vec<u64>,
    /// Every frame comes twice.
    doubled: bool,
    /// The engine is started again in the middle.
    restarted: bool,
}

/// The scenarios with the forms they are played in.
const PLAYED: [(&str, &str, &str, &str); 6] = [
    ("approval", "newest", "preview", "tail"),
    ("parallel-batch", "newest", "plain", "replay"),
    ("tokyo-weather", "seed", "repeat", "replay"),
    ("approval", "newest", "incremental", "tail"),
    ("sub-agent", "newest", "preview", "tail"),
    ("coding-run", "claude", "preview", "tail"),
];

fn trouble() -> impl Strategy<Value = Trouble> {
    (prop::collection::vec(1_u64..6_000, 1..4), any::<bool>(), any::<bool>())
        .prop_map(|(cuts, doubled, restarted)| Trouble { cuts, doubled, restarted })
}

/// Plays a scenario to its end, allowing whatever is asked, and gives the transcript.
async fn transcript(played: (&str, &str, &str, &str), trouble: Option<&Trouble>) -> Result<String> {
    let (scenario, form, text, start) = played;
    let dialect = if form == "claude" { Dialect::Claude } else { Dialect::Qoder };
    let mut rig = Rig::start(dialect).await?;
    if let Some(trouble) = trouble {
        if trouble.doubled {
            let act = StreamAct::Duplicate;
            rig.control.run(Command::StreamFault(StreamFault { session: None, times: 3, act })).await?;
        }
        // All armed faults hold for one stream: the first cut of each stream counts.
        for bytes in trouble.cuts.iter().take(1) {
            rig.control.bend_next_stream(StreamAct::CutAtByte { bytes: *bytes });
        }
    }
    let metadata = [("practice.form", form), ("practice.text", text), ("practice.start", start)];
    let (remote, mut view) = rig.play(scenario, &metadata).await?;
    let mut cuts = trouble.map(|trouble| trouble.cuts.clone()).unwrap_or_default().into_iter().skip(1);
    let mut restart = trouble.is_some_and(|trouble| trouble.restarted);
    let mut answered = BTreeSet::new();
    loop {
        let done = |view: &View| {
            view.header.row.state == SessionState::Idle
                && view.header.turn.as_ref().is_some_and(|turn| turn.ended_at.is_some())
        };
        let waits = |view: &View| view.open_requests().iter().any(|request| !answered.contains(&request.id));
        let broken = |view: &View| matches!(view.header.connection, ConnectionState::Waiting { .. });
        let waited =
            view.until("a card, the end, or a broken stream", |view| done(view) || waits(view) || broken(view)).await;
        waited.with_context(|| format!("{:?} {:?}", view.header, view.log))?;
        if broken(&view) {
            if let Some(bytes) = cuts.next() {
                rig.control.bend_next_stream(StreamAct::CutAtByte { bytes });
            }
            rig.engine.retry_now(SessionRef { session: view.session() }).await?;
            view.until("another try", |view| !broken(view)).await?;
            continue;
        }
        if let Some(request) = view.open_requests().into_iter().find(|request| !answered.contains(&request.id)).cloned()
        {
            if std::mem::take(&mut restart) {
                rig.restart().await?;
                let session = rig.session(&remote).await?;
                view = View::open(&rig.engine, "main", session).await?;
                continue;
            }
            let mut yes = decision(&request, &request.choices.first().context("no choice")?.id);
            yes.result = Some("by hand".into());
            rig.engine.decide(yes).await?;
            answered.insert(request.id);
            continue;
        }
        break;
    }
    if restart {
        rig.restart().await?;
        let session = rig.session(&remote).await?;
        view = View::open(&rig.engine, "main", session).await?;
    }
    let live =
        |view: &View| matches!(view.header.connection, ConnectionState::Live { .. }) && !view.header.loading_history;
    for _ in 0..8 {
        view.until("a stream or a broken one", |view| {
            live(view) || matches!(view.header.connection, ConnectionState::Waiting { .. })
        })
        .await?;
        if live(&view) {
            break;
        }
        rig.engine.retry_now(SessionRef { session: view.session() }).await?;
        view.until("another try", |view| !matches!(view.header.connection, ConnectionState::Waiting { .. })).await?;
    }
    // The last word of everything: a mark that comes behind it.
    rig.control.emit(&remote, serde_json::json!({"type": "system.message", "content": "the end"}))?;
    view.until("the mark", |view| view.text().ends_with("System Done: the end")).await?;
    let seen = rig.control.counters();
    for id in &answered {
        assert_eq!(
            seen.decisions.iter().filter(|seen| seen.request == *id && !seen.repeated).count(),
            1,
            "one decision"
        );
    }
    let text = without_connection(&view);
    rig.engine.shutdown().await;
    rig.practice.stop().await;
    Ok(text)
}

/// The transcript without what it says about the connection itself.
fn without_connection(view: &View) -> String {
    use contract::item::Marker;
    let is_server = |body: &ItemBody| !matches!(body, ItemBody::Marker(Marker::Resumed { .. } | Marker::Gap { .. }));
    view.ordered().into_iter().filter(|item| is_server(&item.body)).map(line).collect::<Vec<_>>().join("\n")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn p19_cuts_duplicates_and_restarts_change_no_transcript() {
    let runtime = runtime();
    let config = Config { cases: 5, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    for played in PLAYED {
        let whole = runtime.block_on(transcript(played, None)).unwrap();
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        TestRunner::new_with_rng(config.clone(), rng)
            .run(&trouble(), |trouble| {
                let got = runtime.block_on(transcript(played, Some(&trouble)));
                let got = got.map_err(|error| TestCaseError::fail(format!("{played:?}: {error:?}")))?;
                prop_assert_eq!(&got, &whole, "{:?} {:?}", played, trouble);
                Ok(())
            })
            .unwrap();
    }
}

#[tokio::test]
async fn p19_every_way_to_stream_a_text_ends_in_the_same_text() -> Result<()> {
    let newest = transcript(("approval", "newest", "preview", "tail"), None).await?;
    for text in ["plain", "flag", "repeat", "incremental"] {
        let other = transcript(("approval", "seed", text, "replay"), None).await?;
        assert_eq!(other, newest, "seed, {text}");
    }
    let other = transcript(("approval", "newest", "incremental", "tail"), None).await?;
    assert_eq!(other, newest, "newest, incremental");
    // The Claude dialect writes its tools' names small.
    let claude = transcript(("approval", "claude", "preview", "tail"), None).await?;
    assert_eq!(claude.replace("Tool bash", "Tool Bash"), newest, "claude");
    Ok(())
}
