//! How a session is set up, where its server takes such a thing: changed at once, or with what is sent next.
//!
//! A change that waits is in the log, without the values of secrets: those are in the keyring, and are read when it is
//! sent.

use std::sync::Arc;

use contract::{
    error::{AppError, ErrorCode},
    setup::{SecretSetting, SessionSetup, ToolSetting},
};
use protocols::{Ask, SetupChange};
use store::StoreError;

use super::{
    handle::Reply,
    local::LocalRecord,
    task::{News, SessionTask, answer},
};
use crate::server::link::{AskError, ServerLink};

/// A changed setup that goes with what is sent next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingSetup {
    /// The whole setup.
    pub setup: SessionSetup,
    /// The secret options whose values go with it.
    pub secrets: Vec<String>,
}

impl SessionTask {
    /// How the session is set up for what is sent next.
    pub(super) fn setup_now(&self) -> Option<&SessionSetup> {
        self.fold.pending_setup.as_ref().map(|pending| &pending.setup).or(self.fold.reducer.run.setup.as_ref())
    }

    /// The request that lets these tools run unasked, where that is a request of its own.
    pub(super) fn trusting(&self, link: &ServerLink, tools: impl IntoIterator<Item = String>) -> Option<Ask<()>> {
        let setup = trusted(self.setup_now()?.clone(), tools);
        link.protocol.change_setup(&self.record.remote_id, &SetupChange { setup, secrets: Vec::new() })
    }

    /// The changed setup that goes with what is sent now.
    pub(super) async fn setup_to_send(&self, trusts: Vec<String>) -> Option<SetupChange> {
        let pending = self.fold.pending_setup.clone();
        if pending.is_none() && trusts.is_empty() {
            return None;
        }
        let setup = trusted(self.setup_now()?.clone(), trusts);
        let names = pending.map(|pending| pending.secrets).unwrap_or_default();
        let secrets = self.secret_values(&names).await;
        Some(SetupChange { setup, secrets })
    }

    /// The values of secret options; those that cannot be read are left as the server has them.
    async fn secret_values(&self, names: &[String]) -> Vec<SecretSetting> {
        let mut secrets = Vec::new();
        let Some(agent) = self.fold.reducer.agent.clone() else { return secrets };
        for name in names {
            if let Ok(Some(value)) = self.hub.option_secrets.read(&self.record.server, &agent, name).await {
                secrets.push(SecretSetting { name: name.clone(), value });
            }
        }
        secrets
    }

    /// Changes the setup: at once, or with what is sent next.
    pub(super) async fn set_setup(
        &mut self,
        setup: SessionSetup,
        secrets: Vec<String>,
        reply: Reply<()>,
    ) -> Result<(), StoreError> {
        if let Some(refused) = self.cannot_send() {
            answer(reply, Err(refused));
            return Ok(());
        }
        let Some(link) = self.link.clone() else { return Ok(()) };
        if !link.protocol.capabilities().setup {
            answer(reply, Err(AppError::new(ErrorCode::Unsupported, "This server cannot do that.")));
            return Ok(());
        }
        let change = SetupChange { setup: setup.clone(), secrets: self.secret_values(&secrets).await };
        let Some(ask) = link.protocol.change_setup(&self.record.remote_id, &change) else {
            self.take_local(&LocalRecord::SetupChosen { setup, secrets }, None).await?;
            self.fold.reducer.touch_header();
            answer(reply, Ok(()));
            return Ok(());
        };
        let (news, remote) = (self.news.clone(), self.record.remote_id.clone());
        tokio::spawn(async move {
            let result = Arc::clone(&link).ask_at(&remote, ask).await;
            // The session's task may have ended; then the caller is told so.
            let _ = news.send(News::SetUp { setup, result, reply }).await;
        });
        Ok(())
    }

    /// The server's answer to a changed setup.
    pub(super) fn setup_changed(&mut self, setup: SessionSetup, result: Result<(), AskError>, reply: Reply<()>) {
        match result {
            Ok(()) => {
                self.fold.reducer.run.setup = Some(setup);
                self.fold.reducer.touch_header();
                self.look();
                answer(reply, Ok(()));
            }
            Err(failed) => answer(reply, Err(failed.error)),
        }
    }
}

/// A setup in which these tools run unasked.
fn trusted(mut setup: SessionSetup, tools: impl IntoIterator<Item = String>) -> SessionSetup {
    for name in tools {
        match setup.tools.iter_mut().find(|tool| tool.name == name) {
            Some(tool) => tool.trusted = true,
            None => setup.tools.push(ToolSetting { name, trusted: true }),
        }
    }
    setup
}
