//! Trying an address without changing anything there: which layer works, which protocol is spoken.
//!
//! Each probing request goes out without the token first; the token is sent only when the server asks for one, and
//! only to the origin that the person typed.

use std::time::Duration;

use bytes::Bytes;
use contract::{
    error::{AppError, ErrorCode},
    probe::{ProbeFound, ProbeLayer, ProbeOutcome, ProbeReport, ProbeStep, ServerDraft},
};
use protocols::{Family, Probe, Recognition, Refusal};
use sse::client::{Client, ClientOptions, SendError};

use super::{
    address::{is_plain_and_remote, read_address, written},
    link::unanswered,
};
use crate::Secret;

/// The whole probe takes at most this long (P-25).
pub const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// Tries an address.
pub async fn probe(draft: &ServerDraft, families: &[Box<dyn Family>]) -> ProbeReport {
    let mut report = ProbeReport { steps: Vec::new(), found: None, error: None };
    if tokio::time::timeout(PROBE_LIMIT, run(draft, families, &mut report)).await.is_err() {
        let error = AppError::retryable(ErrorCode::Unreachable, "The server did not answer within 10 seconds.");
        fail(&mut report, ProbeLayer::Answer, None, error);
    }
    report
}

fn ok(report: &mut ProbeReport, layer: ProbeLayer, detail: Option<String>) {
    if !report.steps.iter().any(|step| step.layer == layer) {
        report.steps.push(ProbeStep { layer, outcome: ProbeOutcome::Ok, detail, status: None });
    }
}

fn fail(report: &mut ProbeReport, layer: ProbeLayer, status: Option<u16>, error: AppError) {
    // The layers above the address have words of their own; what is wrong with an address is in the error's.
    let detail = error.detail.clone().or_else(|| (layer == ProbeLayer::Url).then(|| error.message.clone()));
    report.steps.push(ProbeStep { layer, outcome: ProbeOutcome::Failed, detail, status });
    report.error = Some(error);
}

async fn run(draft: &ServerDraft, families: &[Box<dyn Family>], report: &mut ProbeReport) {
    let base = match read_address(&draft.base_url) {
        Ok(base) => base,
        Err(error) => return fail(report, ProbeLayer::Url, None, error),
    };
    if is_plain_and_remote(&base) && !draft.options.insecure_accepted {
        let error = AppError::new(
            ErrorCode::InsecureUrl,
            "This address is plain http: the token and everything else could be read on the way.",
        );
        return fail(report, ProbeLayer::Url, None, error);
    }
    let host = base.host_str().unwrap_or_default().to_owned();
    let client = Client::new(ClientOptions {
        connect: Duration::from_secs(5),
        total: Duration::from_secs(8),
        ..ClientOptions::default()
    });
    let token = Secret::pasted(&draft.token);
    let mut best: Option<(u8, Option<u16>, AppError, ProbeLayer)> = None;
    let mut keep_best = |rank: u8, status: Option<u16>, error: AppError, layer: ProbeLayer| {
        if best.as_ref().is_none_or(|(known, ..)| rank > *known) {
            best = Some((rank, status, error, layer));
        }
    };
    for family in families {
        if draft.protocol.as_deref().is_some_and(|wanted| wanted != family.id()) {
            continue;
        }
        let mut spoken_version = None;
        for probe in family.probes(&base, &draft.options) {
            let answer = match client.send(probe.request.clone()).await {
                Ok(answer) => answer,
                Err(error) => return unreached(report, &host, base.scheme(), &error),
            };
            reached(report, &host, base.scheme());
            let mut unauthenticated = true;
            let mut recognition = (probe.read)(&answer);
            if let (Recognition::WantsToken(_), Some(token)) = (&recognition, &token) {
                unauthenticated = false;
                match with_token(&client, &probe, token).await {
                    Ok(answer) => recognition = (probe.read)(&answer),
                    Err(error) => return unreached(report, &host, base.scheme(), &error),
                }
            }
            match recognition {
                Recognition::Speaks { version } => spoken_version = version,
                Recognition::Yes { version } => {
                    let version = version.or(spoken_version);
                    return found(report, family.id(), &probe, version, unauthenticated, token.is_some());
                }
                Recognition::WantsToken(refusal) => {
                    let message = if token.is_some() {
                        "The server does not accept this token."
                    } else {
                        "The server wants a token."
                    };
                    let error = AppError::new(ErrorCode::Unauthorized, message).with_detail(words(&refusal));
                    keep_best(3, Some(refusal.status), error, ProbeLayer::Auth);
                }
                Recognition::Refused(refusal) => {
                    let layer =
                        if refusal.code == ErrorCode::Forbidden { ProbeLayer::Auth } else { ProbeLayer::Answer };
                    keep_best(2, Some(refusal.status), AppError::from(refusal), layer);
                }
                Recognition::No => {
                    let status = answer.status().as_u16();
                    let error = AppError::new(
                        ErrorCode::WrongProtocol,
                        "A server answers at this address, but it speaks no protocol this app knows. Check the path.",
                    )
                    .with_detail(format!("HTTP {status} for {}", probe.request.uri().path()));
                    keep_best(1, Some(status), error, ProbeLayer::Protocol);
                }
            }
        }
    }
    match best {
        Some((_, status, error, layer)) => {
            if layer == ProbeLayer::Protocol || layer == ProbeLayer::Auth {
                ok(report, ProbeLayer::Answer, status.map(|status| format!("HTTP {status}")));
            }
            fail(report, layer, status, error);
        }
        None => {
            let error = AppError::new(ErrorCode::InvalidInput, "This app does not know the chosen protocol.");
            fail(report, ProbeLayer::Protocol, None, error);
        }
    }
}

async fn with_token(client: &Client, probe: &Probe, token: &Secret) -> Result<http::Response<Bytes>, SendError> {
    let mut request = probe.request.clone();
    (probe.authorize)(&mut request, token.expose());
    client.send(request).await
}

fn words(refusal: &Refusal) -> String {
    format!("HTTP {} · {}", refusal.status, refusal.message)
}

/// The layers below the answer all work.
fn reached(report: &mut ProbeReport, host: &str, scheme: &str) {
    ok(report, ProbeLayer::Dns, Some(host.to_owned()));
    ok(report, ProbeLayer::Connect, None);
    if scheme == "https" {
        ok(report, ProbeLayer::Tls, None);
    }
}

/// One layer does not: those before it do.
fn unreached(report: &mut ProbeReport, host: &str, scheme: &str, error: &SendError) {
    let layer = error.layer();
    if layer > ProbeLayer::Dns {
        ok(report, ProbeLayer::Dns, Some(host.to_owned()));
    }
    if layer > ProbeLayer::Connect && layer != ProbeLayer::Proxy {
        ok(report, ProbeLayer::Connect, None);
    }
    if layer > ProbeLayer::Tls && layer != ProbeLayer::Proxy && scheme == "https" {
        ok(report, ProbeLayer::Tls, None);
    }
    fail(report, layer, None, unanswered(error));
}

fn found(
    report: &mut ProbeReport,
    protocol: &str,
    probe: &Probe,
    version: Option<String>,
    unauthenticated: bool,
    has_token: bool,
) {
    ok(report, ProbeLayer::Answer, None);
    let auth = if unauthenticated {
        let detail = if has_token { "it answers without a token, too" } else { "it answers without a token" };
        ProbeStep {
            layer: ProbeLayer::Auth,
            outcome: ProbeOutcome::Warning,
            detail: Some(detail.to_owned()),
            status: None,
        }
    } else {
        ProbeStep { layer: ProbeLayer::Auth, outcome: ProbeOutcome::Ok, detail: None, status: None }
    };
    report.steps.push(auth);
    let spoken = [Some(protocol), probe.dialect, version.as_deref()];
    ok(report, ProbeLayer::Protocol, Some(spoken.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    report.found = Some(ProbeFound {
        protocol: protocol.to_owned(),
        dialect: probe.dialect.map(str::to_owned),
        base_url: written(&probe.base),
        version,
        unauthenticated,
    });
}
