//! The file that lets sessions survive a restart: JSON lines, only for its owner (0600), written by a thread of its own.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::JoinHandle,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Manner, PracticeError,
    runs::kept::Kept,
    session::{Answer, Profile, Program, State},
    turns,
};

/// One line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Record {
    /// The server was started the n-th time.
    Start { generation: u64 },
    /// A session as it is now, without its events.
    Session {
        session: String,
        manner: Manner,
        profile: Box<Profile>,
        program: Box<Program>,
        answers: BTreeMap<String, Answer>,
        threads: Vec<ThreadLine>,
    },
    /// An event.
    Event { session: String, thread: Option<String>, at: String, event: Value },
    /// A session is gone.
    Deleted { session: String },
    /// A session of the `runs` side as it is now.
    Runs { kept: Box<Kept> },
    /// A session of the `turns` side as it is now.
    Turns { kept: Box<turns::kept::Kept> },
}

/// A sub-agent, without its events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ThreadLine {
    pub(crate) id: String,
    pub(crate) agent: String,
    pub(crate) created_at: String,
    pub(crate) archived_at: Option<String>,
}

impl Record {
    /// The session line of a state.
    pub(crate) fn of(state: &State) -> Self {
        Self::Session {
            session: state.session.clone(),
            manner: state.manner,
            profile: Box::new(state.profile.clone()),
            program: Box::new(state.program.clone()),
            answers: state.answers.iter().map(|(id, answer)| (id.clone(), answer.clone())).collect(),
            threads: state
                .threads
                .iter()
                .map(|thread| ThreadLine {
                    id: thread.id.clone(),
                    agent: thread.agent.clone(),
                    created_at: thread.created_at.clone(),
                    archived_at: thread.archived_at.clone(),
                })
                .collect(),
        }
    }
}

/// What was found in the file about one session.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) session: String,
    pub(crate) manner: Manner,
    pub(crate) profile: Profile,
    pub(crate) program: Program,
    pub(crate) answers: BTreeMap<String, Answer>,
    pub(crate) threads: Vec<ThreadLine>,
    pub(crate) events: Vec<(Option<String>, String, Value)>,
}

/// The way to the writer; off where there is no file.
#[derive(Clone, Default)]
pub(crate) struct Keep {
    lines: Option<Arc<mpsc::Sender<String>>>,
}

/// The writer's thread: joined at the end, so that nothing is lost by an orderly stop.
pub(crate) struct Writer {
    lines: Arc<mpsc::Sender<String>>,
    thread: JoinHandle<()>,
}

impl Keep {
    pub(crate) fn is_on(&self) -> bool {
        self.lines.is_some()
    }

    pub(crate) fn write(&self, record: &Record) {
        if let (Some(lines), Ok(line)) = (&self.lines, serde_json::to_string(record)) {
            // The writer ends only with the server; a line after that has no reader.
            let _ = lines.send(line);
        }
    }
}

impl Writer {
    /// Waits until everything is written. Ends once nobody holds a `Keep`.
    pub(crate) fn finish(self) {
        drop(self.lines);
        if self.thread.join().is_err() {
            tracing::error!("the session file's writer panicked");
        }
    }
}

/// An opened file, and what was found in it.
pub(crate) struct Opened {
    pub(crate) keep: Keep,
    pub(crate) writer: Writer,
    pub(crate) found: Vec<Found>,
    pub(crate) runs: Vec<Kept>,
    pub(crate) turns: Vec<turns::kept::Kept>,
    /// How many starts the file has seen, with this one.
    pub(crate) generation: u64,
}

/// Reads the file, writes it anew without what is no longer needed, and opens it for more.
pub(crate) fn open(path: &Path) -> Result<Opened, PracticeError> {
    let contents = read(path).map_err(PracticeError::StateFile)?;
    let file = compact(path, &contents).map_err(PracticeError::StateFile)?;
    let (lines, received) = mpsc::channel::<String>();
    let thread = std::thread::Builder::new()
        .name("practice-keep".into())
        .spawn(move || write_lines(file, &received))
        .map_err(PracticeError::StateFile)?;
    let lines = Arc::new(lines);
    let keep = Keep { lines: Some(Arc::clone(&lines)) };
    let Contents { found, runs, turns, generation } = contents;
    Ok(Opened { keep, writer: Writer { lines, thread }, found, runs, turns, generation })
}

fn write_lines(file: File, lines: &mpsc::Receiver<String>) {
    let mut file = BufWriter::new(file);
    while let Ok(line) = lines.recv() {
        let mut next = Some(line);
        while let Some(line) = next {
            if let Err(error) = writeln!(file, "{line}") {
                tracing::warn!(%error, "a session line could not be written");
            }
            next = lines.try_recv().ok();
        }
        if let Err(error) = file.flush() {
            tracing::warn!(%error, "the session file could not be written");
        }
    }
}

/// What a file holds.
#[derive(Default)]
struct Contents {
    found: Vec<Found>,
    runs: Vec<Kept>,
    turns: Vec<turns::kept::Kept>,
    /// How many starts it has seen, with the one that reads it.
    generation: u64,
}

fn read(path: &Path) -> std::io::Result<Contents> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Contents { generation: 1, ..Contents::default() });
        }
        Err(error) => return Err(error),
    };
    let Contents { mut found, mut runs, mut turns, mut generation } = Contents::default();
    for line in BufReader::new(file).split(b'\n') {
        // A torn last line of a killed process is no line.
        let Ok(record) = serde_json::from_slice::<Record>(&line?) else { continue };
        match record {
            Record::Start { generation: number } => generation = number,
            Record::Event { session, thread, at, event } => {
                if let Some(known) = found.iter_mut().find(|known| known.session == session) {
                    known.events.push((thread, at, event));
                }
            }
            Record::Runs { kept } => {
                runs.retain(|known| known.id != kept.id);
                runs.push(*kept);
            }
            Record::Turns { kept } => {
                turns.retain(|known| known.id != kept.id);
                turns.push(*kept);
            }
            Record::Deleted { session } => {
                found.retain(|known| known.session != session);
                turns.retain(|known| known.id != session);
            }
            Record::Session { session, manner, profile, program, answers, threads } => {
                let (profile, program) = (*profile, *program);
                match found.iter_mut().find(|known| known.session == session) {
                    Some(known) => {
                        known.profile = profile;
                        known.program = program;
                        known.answers = answers;
                        known.threads = threads;
                    }
                    None => {
                        found.push(Found { session, manner, profile, program, answers, threads, events: Vec::new() });
                    }
                }
            }
        }
    }
    Ok(Contents { found, runs, turns, generation: generation + 1 })
}

fn compact(path: &Path, contents: &Contents) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = BufWriter::new(options.open(&beside)?);
    let mut write = |record: &Record| -> std::io::Result<()> {
        serde_json::to_writer(&mut file, record)?;
        file.write_all(b"\n")
    };
    write(&Record::Start { generation: contents.generation })?;
    for one in &contents.found {
        write(&Record::Session {
            session: one.session.clone(),
            manner: one.manner,
            profile: Box::new(one.profile.clone()),
            program: Box::new(one.program.clone()),
            answers: one.answers.clone(),
            threads: one.threads.clone(),
        })?;
        for (thread, at, event) in &one.events {
            write(&Record::Event {
                session: one.session.clone(),
                thread: thread.clone(),
                at: at.clone(),
                event: event.clone(),
            })?;
        }
    }
    for kept in &contents.runs {
        write(&Record::Runs { kept: Box::new(kept.clone()) })?;
    }
    for kept in &contents.turns {
        write(&Record::Turns { kept: Box::new(kept.clone()) })?;
    }
    let file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    Ok(file)
}
