//! Modes in which commands run unasked hold for one session and for an hour; then the person is asked again (P-50).

use contract::{
    Millis,
    error::AppError,
    session::{ApprovalMode, RunOptions, UnaskedMark},
};
use store::StoreError;
use tokio::time::{Duration, Instant};

use super::{
    handle::Reply,
    task::{SessionTask, answer},
};

/// How long such a mode holds for runs that begin.
const HOLDS: Duration = Duration::from_secs(60 * 60);

fn runs_unasked(options: &RunOptions) -> bool {
    matches!(options.approvals, ApprovalMode::Auto | ApprovalMode::Commands { .. })
}

/// The mark of a session in which commands run unasked now: the options of the run that goes on count where they are
/// known, else those of the next one, for as long as they hold.
#[must_use]
pub fn unasked_mark(running: Option<&RunOptions>, next: Option<&RunOptions>, now: Millis) -> Option<UnaskedMark> {
    let options = running.or_else(|| next.filter(|next| next.unasked_until.is_some_and(|until| until > now)))?;
    let listed = match &options.approvals {
        ApprovalMode::Ask | ApprovalMode::Deny => return None,
        ApprovalMode::Auto => None,
        ApprovalMode::Commands { commands } => Some(u32::try_from(commands.len()).unwrap_or(u32::MAX)),
    };
    let running = running.is_some();
    Some(UnaskedMark { listed, running, until: options.unasked_until.filter(|_| !running) })
}

impl SessionTask {
    /// Takes the person's options for the runs to come.
    pub(super) async fn set_run_options(
        &mut self,
        mut options: RunOptions,
        reply: Reply<()>,
    ) -> Result<(), StoreError> {
        let until = self.now() + i64::try_from(HOLDS.as_millis()).unwrap_or(i64::MAX);
        options.unasked_until = runs_unasked(&options).then_some(until);
        let kept = self.keep_run_options(options).await;
        answer(reply, kept.map_err(AppError::from));
        Ok(())
    }

    /// A mode whose time has run out holds no longer. What runs goes on as it was begun, and says so.
    pub(super) async fn lapse_unasked(&mut self) -> Result<(), StoreError> {
        let now = self.now();
        let is_over =
            runs_unasked(&self.run_options) && self.run_options.unasked_until.is_none_or(|until| until <= now);
        if !is_over {
            return Ok(());
        }
        let asking = RunOptions { approvals: ApprovalMode::Ask, unasked_until: None, ..self.run_options.clone() };
        self.keep_run_options(asking).await
    }

    /// When the mode that holds has to be looked at again.
    pub(super) fn unasked_ends(&self) -> Option<Instant> {
        let left = self.run_options.unasked_until? - self.now();
        Some(Instant::now() + Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    async fn keep_run_options(&mut self, options: RunOptions) -> Result<(), StoreError> {
        self.run_options = options.clone();
        self.record.run_options = Some(options);
        self.fold.reducer.touch_header();
        self.hub.store.put_session(self.record.clone()).await?;
        self.saved_record = self.record.clone();
        Ok(())
    }
}
