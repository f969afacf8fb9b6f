//! A small server on loopback, written by hand so that it can misbehave.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// What the site does with one connection after it has read the request.
#[derive(Clone)]
pub(super) enum Reply {
    Text(&'static str),
    Made(Arc<dyn Fn(&str) -> String + Send + Sync>),
    /// Writes what the test hands over, then hangs up.
    Gated(Arc<tokio::sync::Mutex<mpsc::Receiver<&'static str>>>),
    /// Never answers, never hangs up.
    Nothing,
}

/// A server on loopback that tells which requests it received.
pub(super) struct Site {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(super) async fn new(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let site = Self { address, seen: seen.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, reply.clone(), seen.clone()));
            }
        });
        site
    }

    pub(super) async fn text(reply: &'static str) -> Self {
        Self::new(Reply::Text(reply)).await
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn converse(mut stream: TcpStream, reply: Reply, seen: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.trim().parse().unwrap());
            if body.len() >= length {
                break;
            }
        }
        // What is no HTTP (a TLS hello) is answered as soon as it comes.
        if !request.is_empty() && !request[0].is_ascii_alphabetic() {
            break;
        }
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    seen.lock().unwrap().push(request.clone());
    let text = match reply {
        Reply::Text(text) => text.to_owned(),
        Reply::Made(make) => make(&request),
        Reply::Gated(parts) => {
            while let Some(part) = parts.lock().await.recv().await {
                stream.write_all(part.as_bytes()).await.unwrap();
            }
            return;
        }
        Reply::Nothing => {
            let _ = stream.read(&mut [0]).await;
            return;
        }
    };
    // The peer may hang up before it has read all of it.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
    let _ = stream.read(&mut [0]).await;
}
