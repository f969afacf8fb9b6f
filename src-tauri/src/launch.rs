//! What one start of the app was asked for: read once from the environment, passed on as values.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long the first paint may take before a plainer renderer is tried.
const PAINT_LIMIT: Duration = Duration::from_secs(5);
/// The same where a test drives the window on a machine that is busy with other things.
const PAINT_LIMIT_DRIVEN: Duration = Duration::from_secs(15);

/// What this start was asked for.
#[derive(Clone)]
pub struct Launch {
    /// Holds database, preferences and logs; `None` = the system's place for this app.
    pub data_dir: Option<PathBuf>,
    /// Gets the milliseconds from the start of the process to the first interactive screen.
    pub ready_file: Option<PathBuf>,
    /// A WebDriver drives the window: no other instance is looked for, and painting may take longer.
    pub driven: bool,
    /// The renderer without DMABUF is in use already.
    pub plain_renderer: bool,
    /// Counts starts that met an instance which was just going away.
    pub attempt: u32,
    /// When `main` began.
    pub began: Instant,
    /// Where tokens live; `None` = the system's keyring.
    pub credentials: Option<Arc<dyn engine::Credentials>>,
}

impl Launch {
    /// Reads the environment of this process.
    #[must_use]
    pub fn from_env() -> Self {
        Self::read(|name| std::env::var_os(name))
    }

    fn read(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let path = |name| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let set = |name| var(name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false");
        Self {
            data_dir: path("COUNTERSIGN_DATA_DIR"),
            ready_file: path("COUNTERSIGN_READY_FILE"),
            driven: set("TAURI_WEBVIEW_AUTOMATION"),
            plain_renderer: set(crate::linux_webkit::PLAIN_RENDERER),
            attempt: var(ATTEMPT).and_then(|value| value.to_str()?.parse().ok()).unwrap_or(0),
            began: Instant::now(),
            credentials: None,
        }
    }

    /// How long the first paint may take.
    #[must_use]
    pub fn paint_limit(&self) -> Duration {
        if self.driven { PAINT_LIMIT_DRIVEN } else { PAINT_LIMIT }
    }

    /// How long this process has been there. On Linux counted from its `exec`, which is a little before `main`.
    #[must_use]
    pub fn age(&self) -> Duration {
        process_age().unwrap_or_else(|| self.began.elapsed())
    }
}

/// The environment variable that carries [`Launch::attempt`] over a restart.
pub const ATTEMPT: &str = "COUNTERSIGN_START_ATTEMPT";

#[cfg(target_os = "linux")]
fn process_age() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    age_from(&stat, &uptime)
}

#[cfg(not(target_os = "linux"))]
fn process_age() -> Option<Duration> {
    None
}

/// proc(5): field 22 of `stat` is the start in ticks since boot, and Linux shows 100 ticks a second to programs.
#[cfg(target_os = "linux")]
fn age_from(stat: &str, uptime: &str) -> Option<Duration> {
    // The second field is the program's name in brackets and may hold spaces.
    let after_name = stat.rsplit_once(')')?.1;
    let ticks: f64 = after_name.split_whitespace().nth(19)?.parse().ok()?;
    let up: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(up - ticks / 100.0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driven_window_gets_more_time_and_empty_variables_count_as_absent() {
        let launch = Launch::read(|name| match name {
            "TAURI_WEBVIEW_AUTOMATION" => Some("true".into()),
            "COUNTERSIGN_DATA_DIR" => Some("".into()),
            "COUNTERSIGN_START_ATTEMPT" => Some("2".into()),
            _ => None,
        });
        assert_eq!((launch.driven, launch.data_dir.is_none(), launch.attempt), (true, true, 2));
        assert_eq!(launch.paint_limit(), Duration::from_secs(15));
        assert_eq!(Launch::read(|_| None).paint_limit(), Duration::from_secs(5));
        assert!(!Launch::read(|name| (name == "TAURI_WEBVIEW_AUTOMATION").then(|| "false".into())).driven);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_age_counts_from_exec_even_with_brackets_in_the_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
        assert_eq!(age_from(stat, "124.45 200.00"), Some(Duration::from_millis(1000)));
        assert_eq!(age_from("nonsense", "1"), None);
        assert!(process_age().is_some());
    }
}
