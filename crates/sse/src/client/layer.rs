//! Which layer a failed exchange failed in.

use std::{error::Error, io};

use contract::probe::ProbeLayer;

use super::{SendError, address::Target};

pub(super) fn classify(error: reqwest::Error, target: &Target, proxied: bool) -> SendError {
    let source = error.without_url();
    let detail = chain(&source);
    if source.is_builder() {
        return SendError::Url { reason: detail };
    }
    if !source.is_connect() {
        return SendError::Broken { detail, source };
    }
    let layer = if target.https && failed_in_tls(&source, proxied) {
        ProbeLayer::Tls
    } else if proxied {
        // With a proxy in between, whatever fails before TLS fails on the way to it or in it.
        ProbeLayer::Proxy
    } else if source.is_dns() {
        ProbeLayer::Dns
    } else {
        ProbeLayer::Connect
    };
    SendError::NoConnection { layer, detail, source }
}

/// TLS failures arrive as I/O errors: bad records and certificates as `InvalidData`, a peer that hangs up during
/// the handshake as an end or a reset, which a TCP connect never gives.
fn failed_in_tls(error: &(dyn Error + 'static), proxied: bool) -> bool {
    causes(error).any(|cause| {
        let mut io = cause.downcast_ref::<io::Error>();
        while let Some(error) = io {
            match error.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => return true,
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe if !proxied => return true,
                _ => {}
            }
            io = error.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>());
        }
        false
    })
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The causes in words, outermost first, each once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in causes(error) {
        let text = cause.to_string();
        if words.last().is_none_or(|last| !last.contains(&text)) {
            words.push(text);
        }
    }
    words.join(": ")
}
