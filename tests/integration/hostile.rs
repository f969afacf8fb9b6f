//! Payloads that try to be taken for something else (`tests/scenarios/hostile/*.jsonl`): each card shows what its line
//! says it must, and what is harmless shows nothing.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use contract::{
    event::RequestSeed,
    request::{Request, RequestKind},
    server::ServerId,
    session::SessionId,
};
use engine::request::card::{Owner, card};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Line {
    tool: Option<String>,
    form: String,
    payload: String,
    why: String,
    must_show: Vec<String>,
}

fn lines() -> Result<Vec<(String, Line)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/hostile");
    let mut lines = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_stem().context("no name")?.to_string_lossy().into_owned();
        for (at, line) in fs::read_to_string(&path)?.lines().enumerate() {
            lines.push((format!("{name}:{}", at + 1), serde_json::from_str(line)?));
        }
    }
    Ok(lines)
}

fn asked(line: &Line) -> Request {
    let owner = Owner {
        session: SessionId(1),
        remote_session: "s".into(),
        server: ServerId("a".into()),
        server_name: "A".into(),
    };
    let is_command = line.form == "command";
    let arguments =
        if is_command { serde_json::json!({"command": line.payload}).to_string() } else { line.payload.clone() };
    let seed = RequestSeed {
        id: "r".into(),
        kind: RequestKind::Approval,
        item: None,
        tool: line.tool.clone(),
        source: None,
        arguments,
        command: is_command.then(|| line.payload.clone()),
        work_dir: Some("/srv/app".into()),
        questions: Vec::new(),
        choices: Vec::new(),
        answerable: true,
        deadline_ms: None,
        too_large: false,
        group: None,
        own_tool: None,
    };
    card(&owner, &seed, Vec::new(), 0).request
}

/// Everything a card says of its payload, as words.
fn shown(request: &Request) -> Result<BTreeSet<String>> {
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned).context("no word");
    let mut shown = BTreeSet::new();
    let risk = request.risk.as_ref().context("no risk")?;
    shown.insert(format!("class:{}", word(serde_json::to_value(risk.class)?)?));
    for reason in &risk.reasons {
        shown.insert(word(serde_json::to_value(reason.reason)?)?);
    }
    for mark in &request.marks {
        shown.insert(word(serde_json::to_value(mark.kind)?)?);
    }
    for flag in &request.flags {
        shown.insert(word(serde_json::to_value(flag)?)?);
    }
    Ok(shown)
}

/// Where the cards of all payloads stand for the page's tests.
fn cards_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui/tests/hostile/cards.jsonl")
}

/// One line for each payload: where it stands, why it is here, what it must show, and its card as the page gets it.
fn cards() -> Result<String> {
    let mut out = String::new();
    let mut lines = lines()?;
    lines.sort_by_key(|(at, _)| {
        let (file, line) = at.rsplit_once(':').unwrap_or((at, "0"));
        (file.to_owned(), line.parse::<usize>().unwrap_or_default())
    });
    for (at, line) in &lines {
        let request = if line.form == "markdown" { None } else { Some(asked(line)) };
        let text = request.is_none().then_some(&line.payload);
        let card = serde_json::json!({
            "at": at, "why": line.why, "must_show": line.must_show, "markdown": text, "request": request,
        });
        out.push_str(&card.to_string());
        out.push('\n');
    }
    Ok(out)
}

/// The page's tests draw what this app judged, never cards made by hand. `COUNTERSIGN_WRITE_HOSTILE=1` writes them anew.
#[test]
fn the_cards_that_the_page_is_tested_with_are_the_ones_made_here() -> Result<()> {
    let path = cards_file();
    let made = cards()?;
    if std::env::var_os("COUNTERSIGN_WRITE_HOSTILE").is_some() {
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(&path, &made)?;
    }
    let written = fs::read_to_string(&path).context("COUNTERSIGN_WRITE_HOSTILE=1 writes it")?;
    ensure!(written == made, "the page's cards are old: run this test with COUNTERSIGN_WRITE_HOSTILE=1");
    Ok(())
}

#[test]
fn every_hostile_payload_shows_what_it_hides() -> Result<()> {
    let lines = lines()?;
    let cards: Vec<_> =
        lines.iter().filter(|(at, line)| line.form != "markdown" && !at.starts_with("benign")).collect();
    ensure!(cards.len() >= 200, "only {} payloads", cards.len());
    let mut wrong = Vec::new();
    for (at, line) in cards {
        let request = asked(line);
        let shown = shown(&request)?;
        for must in &line.must_show {
            let is_there = match must.strip_prefix("text:") {
                Some(text) => request.arguments.text.contains(text),
                None => shown.contains(must),
            };
            if !is_there {
                wrong.push(format!("{at} ({}) lacks {must}: {shown:?}", line.why));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn harmless_payloads_show_no_mark() -> Result<()> {
    let lines = lines()?;
    let twins: Vec<_> = lines.iter().filter(|(at, line)| line.form != "markdown" && at.starts_with("benign")).collect();
    ensure!(twins.len() >= 50, "only {} twins", twins.len());
    let mut wrong = Vec::new();
    for (at, line) in twins {
        let request = asked(line);
        let expected: BTreeSet<String> = line.must_show.iter().cloned().collect();
        let shown = shown(&request)?;
        if shown != expected {
            wrong.push(format!("{at} {:?} shows {shown:?}", line.payload));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
