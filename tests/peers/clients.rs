//! The official clients against the practice server: it is faithful when they are content.

use std::process::Stdio;

use anyhow::{Result, ensure};
use practice::{Config, Pace, Practice};
use tokio::process::Command;

use crate::{peers, script};

async fn content(mut client: Command) -> Result<()> {
    let output = client.stdin(Stdio::null()).kill_on_drop(true).output().await?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "the client is not content:\n{}", String::from_utf8_lossy(&said));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn qca_sdk_in_strict_mode_drives_the_practice_server() -> Result<()> {
    let practice = Practice::start(Config { pace: Pace::Fast, ..Config::default() }).await?;
    let mut client = Command::new(peers().join("qca-sdk/bin/python"));
    client.arg(script("qca_sdk.py")).arg(practice.base_url()).arg(practice.token());
    content(client).await?;
    practice.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_sdk_drives_the_practice_server() -> Result<()> {
    let practice = Practice::start(Config { pace: Pace::Fast, ..Config::default() }).await?;
    let mut client = Command::new("node");
    client.arg(script("anthropic.mjs")).arg(practice.claude_base_url()).arg(practice.token());
    client.arg(peers().join("anthropic-sdk"));
    content(client).await?;
    practice.stop().await;
    Ok(())
}
