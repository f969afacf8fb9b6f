//! S-11: nothing here listens, save the practice server: on loopback only, with a random token, while it is on.

use std::{
    net::{IpAddr, SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context as _, Result};
use practice::{Config, Practice};
use pretty_assertions::{assert_eq, assert_ne};
use tests::rig::{Dialect, Rig};

/// Where a practice server listens.
fn address(practice: &Practice) -> Result<SocketAddr> {
    let base = practice.base_url();
    let host = base.strip_prefix("http://").and_then(|rest| rest.split('/').next()).context("no host")?;
    Ok(host.parse()?)
}

fn answers(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_ok()
}

#[tokio::test]
async fn s11_the_practice_server_listens_on_loopback_alone_and_only_while_it_is_on() -> Result<()> {
    let (first, second) = (Practice::start(Config::default()).await?, Practice::start(Config::default()).await?);
    let (one, two) = (address(&first)?, address(&second)?);
    assert!(one.ip().is_loopback() && two.ip().is_loopback(), "{one} {two}");
    assert_ne!(one.port(), two.port());
    assert!(answers(one) && answers(two));
    // The same port at any other address of this computer is closed to it.
    let other = SocketAddr::new(IpAddr::from([127, 0, 0, 2]), one.port());
    assert!(cfg!(not(target_os = "linux")) || !answers(other), "it listens on more than one address");
    first.stop().await;
    assert!(!answers(one), "switched off, and listening still");
    assert!(answers(two));
    Ok(())
}

#[tokio::test]
async fn s11_the_practice_server_wants_its_random_token_from_everyone() -> Result<()> {
    let (first, second) = (Practice::start(Config::default()).await?, Practice::start(Config::default()).await?);
    assert_ne!(first.token(), second.token());
    assert!(first.token().len() >= 32, "long enough not to be guessed");
    let client = reqwest::Client::new();
    for path in ["/agents", "/sessions", "/environments", "/sessions/x/events", "/sessions/x/events/stream"] {
        let ask = || client.get(format!("{}{path}", first.base_url()));
        for request in [ask(), ask().bearer_auth(second.token()), ask().bearer_auth("")] {
            assert_eq!(request.send().await?.status(), 401, "{path}");
        }
    }
    let asked = client.get(format!("{}/agents", first.base_url())).bearer_auth(first.token()).send().await?;
    assert_eq!(asked.status(), 200);
    Ok(())
}

/// The addresses at which this process listens.
#[cfg(target_os = "linux")]
fn listening() -> Result<Vec<String>> {
    let mut mine = std::collections::HashSet::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        // The descriptor of this very listing is gone by now.
        if let Ok(link) = std::fs::read_link(entry?.path())
            && let Some(inode) = link.to_string_lossy().strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'))
        {
            mine.insert(inode.to_owned());
        }
    }
    let mut found = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        for line in std::fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // `0A` is LISTEN.
            if words.get(3) == Some(&"0A") && words.get(9).is_some_and(|inode| mine.contains(*inode)) {
                found.push(words[1].to_owned());
            }
        }
    }
    Ok(found)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn s11_the_engine_opens_no_port_of_its_own() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (_, mut view) = rig.play("plain", &[]).await?;
    view.until("a live stream", super::is_live).await?;
    let port = format!("{:04X}", address(&rig.practice)?.port());
    let open = listening()?;
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].ends_with(&port), "{open:?} is not the practice server");
    rig.practice.stop().await;
    assert_eq!(listening()?, Vec::<String>::new());
    Ok(())
}
