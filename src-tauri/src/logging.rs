//! The log: JSON lines in files that rotate daily, bounded in number and size. Fields, never bodies.
//!
//! Only this project's own crates are heard below warnings: libraries may put addresses or headers into their
//! finer lines. A panic is logged by its place; its words may quote data and are left out.

use std::{
    io::{self, Write},
    panic::PanicHookInfo,
    path::Path,
};

use tracing::Level;
use tracing_appender::{
    non_blocking::WorkerGuard,
    rolling::{RollingFileAppender, Rotation},
};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

/// Files kept: today's and those of the week before.
const FILES: usize = 8;
/// What one run may write between two midnights (bytes).
const DAY_CAP: u64 = 16 * 1024 * 1024;
/// Our crates, as `tracing` names them.
const OURS: [&str; 6] = ["countersign_lib", "engine", "sse", "protocols", "store", "practice"];

/// Starts the log in a folder. The answer must be kept: dropping it writes out what waits.
///
/// # Errors
/// Where the folder cannot be made or written, or another log was started in this process.
pub fn start(folder: &Path) -> Result<WorkerGuard, Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let files = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("countersign")
        .filename_suffix("log")
        .max_log_files(FILES)
        .build(folder)?;
    let (writer, guard) = tracing_appender::non_blocking(Capped::new(files, today));
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(writer);
    tracing_subscriber::registry()
        .with(filter(std::env::var("COUNTERSIGN_LOG").ok().as_deref()))
        .with(lines)
        .try_init()?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(guard)
}

/// `COUNTERSIGN_LOG` may be `error`, `warn`, `info` (as by default), `debug` or `trace`; it speaks of our crates alone.
fn filter(wanted: Option<&str>) -> Targets {
    let level = wanted.and_then(|word| word.parse().ok()).unwrap_or(Level::INFO);
    Targets::new().with_default(Level::WARN).with_targets(OURS.map(|name| (name, level)))
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
    let words = safe_words(panic.payload());
    tracing::error!(place, thread, words, "panic");
    let _ = writeln!(io::stderr(), "countersign: panic at {place}: {words}");
}

/// A literal was written by us; anything formatted may quote data.
fn safe_words(payload: &(dyn std::any::Any + Send)) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("words left out")
}

/// Days since 1970.
fn today() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / 86_400)
}

/// Lets a number of bytes through per day and drops the rest, saying so once.
struct Capped<W> {
    inner: W,
    day_of: fn() -> u64,
    day: u64,
    written: u64,
}

impl<W: Write> Capped<W> {
    fn new(inner: W, day_of: fn() -> u64) -> Self {
        Self { inner, day_of, day: day_of(), written: 0 }
    }
}

impl<W: Write> Write for Capped<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let day = (self.day_of)();
        if day != self.day {
            self.day = day;
            self.written = 0;
        }
        let before = self.written;
        self.written = before.saturating_add(line.len() as u64);
        if self.written <= DAY_CAP {
            self.inner.write_all(line)?;
        } else if before <= DAY_CAP {
            self.inner.write_all(b"{\"level\":\"WARN\",\"message\":\"the log is full for today\"}\n")?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// What may be kept of an error of the page: its kind and its places. Its words may quote a transcript.
#[must_use]
pub fn page_error_places(message: &str, stack: Option<&str>) -> (String, Vec<String>) {
    let kind = message.split(':').next().unwrap_or_default().trim_start_matches("Uncaught ").trim();
    let kind = if kind.ends_with("Error") && kind.chars().all(|c| c.is_ascii_alphabetic()) { kind } else { "Error" };
    let places = stack.unwrap_or_default().lines().filter_map(place).take(20).collect();
    (kind.to_owned(), places)
}

/// `…/assets/main.js:12:34` out of a line of a stack.
fn place(line: &str) -> Option<String> {
    let mut parts = line.trim().trim_end_matches(')').rsplitn(3, ':');
    let (column, row, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let file = rest.rsplit('/').next()?;
    let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let file_like = file.len() <= 80 && file.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    (plain(column) && plain(row) && file_like).then(|| format!("{file}:{row}:{column}"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_day_has_a_cap_and_the_next_day_begins_anew() {
        use std::sync::atomic::{AtomicU64, Ordering};
        static DAY: AtomicU64 = AtomicU64::new(1);
        let mut capped = Capped::new(Vec::new(), || DAY.load(Ordering::SeqCst));
        let line = vec![b'x'; 1024 * 1024];
        for _ in 0..20 {
            capped.write_all(&line).unwrap();
        }
        assert!(capped.inner.len() <= 17 * 1024 * 1024);
        assert!(capped.inner.ends_with(b"full for today\"}\n"));
        DAY.store(2, Ordering::SeqCst);
        capped.write_all(b"good morning\n").unwrap();
        assert!(capped.inner.ends_with(b"good morning\n"));
    }

    #[test]
    fn libraries_are_heard_from_warnings_up_whatever_is_asked() {
        for wanted in [None, Some("trace"), Some("nonsense"), Some("hyper=trace")] {
            let filter = filter(wanted);
            assert!(!filter.would_enable("hyper::proto", &Level::INFO), "{wanted:?}");
            assert!(filter.would_enable("engine::session", &Level::INFO), "{wanted:?}");
        }
        assert!(filter(Some("debug")).would_enable("engine", &Level::DEBUG));
    }

    #[test]
    fn p46_a_panic_keeps_literal_words_and_leaves_formatted_ones_out() {
        assert_eq!(safe_words(&"BUG: no window"), "BUG: no window");
        assert_eq!(safe_words(&format!("token {}", "canary-1")), "words left out");
    }

    #[test]
    fn p46_an_error_of_the_page_keeps_its_kind_and_places_only() {
        let stack =
            "render@tauri://localhost/assets/main-3f.js:10:22\ncanary secret text\n    at f (http://x/a.js:1:2)";
        assert_eq!(
            page_error_places("TypeError: canary is not a function", Some(stack)),
            ("TypeError".to_owned(), vec!["main-3f.js:10:22".to_owned(), "a.js:1:2".to_owned()])
        );
        assert_eq!(page_error_places("canary", None), ("Error".to_owned(), Vec::new()));
        assert_eq!(page_error_places("x", Some("canary secret/words here:1:2")), ("Error".to_owned(), Vec::new()));
    }
}
