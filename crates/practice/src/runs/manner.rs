//! The switches of the `runs` side: which generation it speaks and in which state it starts.

use serde::{Deserialize, Serialize};

/// Which release the server behaves like (runs page, versions and §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Generation {
    /// 0.1.x: no switching while a run goes on, bare reasoning deltas, questions time out.
    #[serde(rename = "0.1")]
    First,
    /// 0.2.0: runs go on aside, questions wait for ever.
    #[default]
    #[serde(rename = "0.2")]
    Second,
    /// As the seed page has it: 0.2.0 with `work_dir`, a `cancelled` frame, and 409 where nothing can be resumed.
    #[serde(rename = "seed")]
    Seed,
}

/// The server's own level (§4): the first of the two gates a command passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// No command runs, and nobody is asked. The real server starts like this.
    Deny,
    /// The run's own approvals mode decides.
    #[default]
    Ask,
    /// Commands run in a sandbox, and nobody is asked.
    Safe,
    /// Commands run, and nobody is asked.
    Full,
}

impl Permission {
    /// All levels, in the order `GET /settings` names them.
    pub(crate) const ALL: [(&'static str, Self); 4] =
        [("deny", Self::Deny), ("ask", Self::Ask), ("safe", Self::Safe), ("full", Self::Full)];

    /// The level of this word; `auto` is the old name of `full`.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let word = if word == "auto" { "full" } else { word };
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, level)| *level)
    }
}

/// What a resume does with calls that a killed server left without a result (§8 and edge 19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recover {
    /// The same calls come again under new ids, and ask again.
    #[default]
    AskAgain,
    /// They are reported to the model as interrupted and not run again.
    Report,
}

/// How the `runs` side behaves. `None` = as its generation does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunsManner {
    /// Which release it behaves like.
    pub generation: Generation,
    /// The level it starts with.
    pub permission: Permission,
    /// A stopped run ends with a `cancelled` frame rather than with a partial `result`.
    pub cancelled_frame: Option<bool>,
    /// Nothing to resume is a 409 rather than an `error` frame in a 200.
    pub resume_conflict: Option<bool>,
    /// Approvals carry `work_dir`.
    pub work_dir: Option<bool>,
    /// A newer steer message takes the place of one that waits (`steering_interrupted`).
    pub supersede_steers: bool,
    /// Calls that were not begun when a steer message came are skipped.
    pub skip_on_steer: bool,
    /// What becomes of calls a killed server left open.
    pub recover: Recover,
    /// The model takes images.
    pub multimodal: bool,
    /// A model is configured (`ready` in `/health`).
    pub ready: bool,
    /// What `pending.remember_supported` says.
    pub remember_supported: bool,
}

impl Default for RunsManner {
    fn default() -> Self {
        Self {
            generation: Generation::default(),
            permission: Permission::default(),
            cancelled_frame: None,
            resume_conflict: None,
            work_dir: None,
            supersede_steers: false,
            skip_on_steer: false,
            recover: Recover::default(),
            multimodal: false,
            ready: true,
            remember_supported: true,
        }
    }
}

impl RunsManner {
    /// As a generation behaves, in all else as by default.
    #[must_use]
    pub fn of(generation: Generation) -> Self {
        Self { generation, ..Self::default() }
    }

    /// 0.2.0 or newer.
    pub(crate) fn is_newer(&self) -> bool {
        self.generation != Generation::First
    }

    fn is_seed(&self) -> bool {
        self.generation == Generation::Seed
    }

    pub(crate) fn ends_with_cancelled(&self) -> bool {
        self.cancelled_frame.unwrap_or(self.is_seed())
    }

    pub(crate) fn refuses_idle_resume(&self) -> bool {
        self.resume_conflict.unwrap_or(self.is_seed())
    }

    pub(crate) fn says_work_dir(&self) -> bool {
        self.work_dir.unwrap_or(self.is_seed())
    }

    /// What `/health` says.
    pub(crate) fn version(&self) -> &'static str {
        match self.generation {
            Generation::First => "0.1.1",
            Generation::Second => "0.2.0",
            Generation::Seed => "0.3.0",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_generation_is_the_second_with_its_three_differences() {
        let (second, seed) = (RunsManner::of(Generation::Second), RunsManner::of(Generation::Seed));
        for manner in [&second, &seed] {
            assert!(manner.is_newer());
        }
        assert!(seed.ends_with_cancelled() && seed.refuses_idle_resume() && seed.says_work_dir());
        assert!(!second.ends_with_cancelled() && !second.refuses_idle_resume() && !second.says_work_dir());
        let mixed = RunsManner { work_dir: Some(true), ..second };
        assert!(mixed.says_work_dir() && !mixed.ends_with_cancelled());
    }

    #[test]
    fn auto_is_the_old_name_of_full() {
        assert_eq!(Permission::of("auto"), Some(Permission::Full));
        assert_eq!(Permission::of("sometimes"), None);
    }
}
