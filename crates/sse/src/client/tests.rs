use std::{
    fmt::Write as _,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use contract::probe::ProbeLayer;
use futures_util::StreamExt;
use http::{Method, Request, StatusCode};
use pretty_assertions::assert_eq;
use tokio::{net::TcpListener, sync::mpsc};

use super::{Client, ClientOptions, OpenError, ProxyChoice, RedirectRefused, SendError};
use crate::reconnect::RetryAfter;

mod site;

use self::site::{Reply, Site};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).header("authorization", "Bearer canary").body(Bytes::new()).unwrap()
}

fn options(proxy: ProxyChoice) -> ClientOptions {
    ClientOptions { proxy, ..ClientOptions::default() }
}

fn client() -> Client {
    Client::new(options(ProxyChoice::Direct))
}

fn through(proxy: &Site) -> Client {
    Client::new(options(ProxyChoice::Fixed(proxy.url(""))))
}

/// The layer that failed and whether the request may have arrived.
fn verdict(result: Result<http::Response<Bytes>, SendError>) -> (ProbeLayer, bool) {
    let error = result.unwrap_err();
    (error.layer(), error.may_have_arrived())
}

#[tokio::test]
async fn any_status_is_an_answer() {
    let site =
        Site::text("HTTP/1.1 409 Conflict\r\nx-a: b\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbusy").await;
    let request =
        Request::post(site.url("/v1/x?q=1")).header("idempotency-key", "k").body(Bytes::from_static(b"{}")).unwrap();
    let response = client().send(request).await.unwrap();
    assert_eq!((response.status(), response.body().as_ref()), (StatusCode::CONFLICT, b"busy".as_slice()));
    assert_eq!(response.headers()["x-a"], "b");
    let seen = site.seen().remove(0);
    assert!(seen.starts_with("POST /v1/x?q=1 HTTP/1.1\r\n") && seen.ends_with("\r\n\r\n{}"), "{seen}");
    assert!(seen.contains("idempotency-key: k"), "{seen}");
}

#[tokio::test]
async fn a_body_over_the_cap_is_refused_and_one_of_that_size_is_not() {
    let site = Site::text(OK).await;
    let capped = |body_cap| Client::new(ClientOptions { body_cap, ..options(ProxyChoice::Direct) });
    assert_eq!(capped(2).send(get(&site.url("/"))).await.unwrap().body(), "ok");
    let error = capped(1).send(get(&site.url("/"))).await.unwrap_err();
    assert!(matches!(error, SendError::TooLarge { cap: 1, status: StatusCode::OK }), "{error}");
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_may_have_arrived() {
    let site = Site::new(Reply::Nothing).await;
    let total = Duration::from_millis(100);
    let client = Client::new(ClientOptions { total, ..options(ProxyChoice::Direct) });
    assert_eq!(verdict(client.send(get(&site.url("/"))).await), (ProbeLayer::Answer, true));
}

#[tokio::test]
async fn an_answer_that_breaks_off_may_have_arrived() {
    let site = Site::text("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
    assert_eq!(verdict(client().send(get(&site.url("/"))).await), (ProbeLayer::Answer, true));
    let site = Site::text("").await;
    assert_eq!(verdict(client().send(get(&site.url("/"))).await), (ProbeLayer::Answer, true));
}

async fn nobody_listens() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn p_25_the_failing_layer_is_named_and_nothing_was_sent() {
    let client = client();
    for (url, layer) in [
        ("ftp://127.0.0.1/".to_owned(), ProbeLayer::Url),
        ("/only/a/path".to_owned(), ProbeLayer::Url),
        // Longer than a host name may be: refused without asking any name server.
        (format!("http://{}.test/", "a".repeat(64)), ProbeLayer::Dns),
        (format!("http://{}/", nobody_listens().await), ProbeLayer::Connect),
        (format!("https://{}/", nobody_listens().await), ProbeLayer::Connect),
    ] {
        assert_eq!(verdict(client.send(get(&url)).await), (layer, false), "{url}");
    }
}

#[tokio::test]
async fn p_25_a_server_without_tls_behind_https_fails_in_tls() {
    for reply in ["HTTP/1.1 400 Bad Request\r\n\r\n", ""] {
        let site = Site::text(reply).await;
        let url = site.url("/").replace("http:", "https:");
        assert_eq!(verdict(client().send(get(&url)).await), (ProbeLayer::Tls, false), "{reply:?}");
    }
}

#[tokio::test]
async fn p_25_a_proxy_that_wants_a_login_is_named() {
    let proxy =
        Site::text("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await;
    let error = through(&proxy).send(get("http://example.test/")).await.unwrap_err();
    assert!(matches!(error, SendError::ProxyLogin), "{error}");
    assert_eq!(verdict(through(&proxy).send(get("https://example.test/")).await), (ProbeLayer::Proxy, false));
    let seen = proxy.seen();
    assert!(seen[0].starts_with("GET http://example.test/ "), "{seen:?}");
    assert!(seen[1].starts_with("CONNECT example.test:443 ") && !seen[1].contains("canary"), "{seen:?}");
}

#[tokio::test]
async fn p_25_a_proxy_that_is_not_there_is_named() {
    let address = format!("http://{}", nobody_listens().await);
    let client = Client::new(options(ProxyChoice::Fixed(address)));
    assert_eq!(verdict(client.send(get("http://example.test/")).await), (ProbeLayer::Proxy, false));
}

#[tokio::test]
async fn loopback_never_goes_through_a_proxy() {
    let (site, proxy) = (Site::text(OK).await, Site::text(OK).await);
    let client = through(&proxy);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", site.address.port());
        assert_eq!(client.send(get(&url)).await.unwrap().body(), "ok");
    }
    assert_eq!((site.seen().len(), proxy.seen().len()), (2, 0));
}

/// Runs itself in a process of its own, for the environment belongs to a whole process.
#[tokio::test]
async fn the_environments_proxy_is_used_for_others_and_never_for_loopback() {
    const SITE: &str = "SSE_TEST_SITE";
    if let Ok(url) = std::env::var(SITE) {
        let client = Client::new(ClientOptions::default());
        assert_eq!(client.send(get(&url)).await.unwrap().body(), "site");
        assert_eq!(client.send(get("http://example.test/")).await.unwrap().body(), "proxy");
        return;
    }
    let site = Site::text("HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nsite").await;
    let proxy = Site::text("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nproxy").await;
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "client::tests::the_environments_proxy_is_used_for_others_and_never_for_loopback"]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, proxy.url(""));
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy").env_remove("REQUEST_METHOD").env(SITE, site.url("/"));
    let output = child.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((site.seen().len(), proxy.seen().len()), (1, 1));
}

fn redirect(status: u16, to: String) -> Reply {
    Reply::Made(Arc::new(move |request| {
        if request.starts_with("GET /end ") || request.starts_with("POST /end ") {
            return OK.to_owned();
        }
        format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    }))
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_token_and_the_body() {
    let site = Site::new(redirect(307, "/end".into())).await;
    let mut request = get(&site.url("/start"));
    *request.method_mut() = Method::POST;
    *request.body_mut() = Bytes::from_static(b"text");
    assert_eq!(client().send(request).await.unwrap().body(), "ok");
    let seen = site.seen();
    assert!(seen[1].starts_with("POST /end ") && seen[1].contains("Bearer canary"), "{seen:?}");
    assert!(seen[1].ends_with("text"), "{seen:?}");
}

#[tokio::test]
async fn s_11_a_redirect_to_another_origin_is_refused_and_that_origin_hears_nothing() {
    let other = Site::text(OK).await;
    let site = Site::new(redirect(302, other.url("/end"))).await;
    let error = client().send(get(&site.url("/"))).await.unwrap_err();
    let to = other.url("");
    assert!(
        matches!(&error, SendError::Redirect(RedirectRefused::OtherOrigin { to: shown }) if *shown == to),
        "{error}"
    );
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn redirects_in_circles_end_after_five() {
    let site = Site::new(redirect(302, "/again".into())).await;
    let error = client().send(get(&site.url("/"))).await.unwrap_err();
    assert!(matches!(error, SendError::Redirect(RedirectRefused::TooMany)), "{error}");
    assert_eq!(site.seen().len(), 6);
}

#[tokio::test]
async fn a_stream_is_read_as_it_comes_and_its_break_is_told() {
    let (parts, gate) = mpsc::channel(1);
    let site = Site::new(Reply::Gated(Arc::new(tokio::sync::Mutex::new(gate)))).await;
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    parts.send(head).await.unwrap();
    let mut body = client().open(get(&site.url("/")), None).await.unwrap();
    for chunk in ["3\r\n: a\r\n", "3\r\n: b\r\n"] {
        parts.send(chunk).await.unwrap();
        assert_eq!(body.next().await.unwrap().unwrap(), &chunk[3..6]);
    }
    drop(parts);
    assert!(body.next().await.unwrap().is_err());
}

#[tokio::test]
async fn a_stream_that_ends_cleanly_just_ends() {
    let site = Site::text("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: a\n").await;
    let mut body = client().open(get(&site.url("/")), None).await.unwrap();
    assert_eq!(body.next().await.unwrap().unwrap(), ": a\n");
    assert!(body.next().await.is_none());
}

#[tokio::test]
async fn a_refused_stream_gives_status_headers_and_words() {
    let site = Site::text(
        "HTTP/1.1 429 Too Many\r\nretry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\ncontent-length: 4\r\nconnection: close\r\n\r\nslow",
    )
    .await;
    let error = client().open(get(&site.url("/")), None).await.err().unwrap();
    let at = UNIX_EPOCH + Duration::from_secs(1_445_412_480);
    assert_eq!(error.retry_after(), Some(RetryAfter::At(at)));
    let OpenError::Refused(response) = error else { panic!("{error}") };
    assert_eq!((response.status().as_u16(), response.body().as_ref()), (429, b"slow".as_slice()));
}

#[tokio::test]
async fn an_answer_that_is_no_event_stream_is_told_with_its_start() {
    let site = Site::text(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>",
    )
    .await;
    let error = client().open(get(&site.url("/")), None).await.err().unwrap();
    let OpenError::NotAStream { status, content_type, start } = error else { panic!("{error}") };
    assert_eq!((status.as_u16(), content_type.as_deref(), start.as_ref()), (200, Some("text/html"), &b"<html>"[..]));
}

#[tokio::test]
async fn a_stream_whose_answer_does_not_come_is_given_up_only_where_there_is_a_limit() {
    let site = Site::new(Reply::Nothing).await;
    let limit = Duration::from_millis(100);
    let error = client().open(get(&site.url("/")), Some(limit)).await.err().unwrap();
    assert!(matches!(error, OpenError::Send(SendError::TimedOut { .. })), "{error}");
}

/// Writes down every field of every span and event of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl tracing::field::Visit for Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        write!(self.0.lock().unwrap(), "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        span.record(&mut self.clone());
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn p_46_no_token_in_any_error_debug_text_or_log() {
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    let echo = Site::new(Reply::Made(Arc::new(|request| {
        format!(
            "HTTP/1.1 403 No\r\nx-echo: canary\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{request}",
            request.len()
        )
    })))
    .await;
    let html = Site::text("HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\ncanary").await;
    let away = Site::new(redirect(302, "https://canary:canary@127.0.0.2/?token=canary".into())).await;
    let broken = Site::text("").await;
    let nobody = nobody_listens().await;
    let mut texts = String::new();
    let proxied = |proxy: SocketAddr| Client::new(options(ProxyChoice::Fixed(format!("http://user:canary@{proxy}"))));
    for client in [proxied(echo.address), proxied(nobody)] {
        for url in ["http://example.test/?token=canary", "https://example.test/?token=canary"] {
            let error = client.open(get(url), None).await.err().unwrap();
            write!(texts, "{error} {error:?} {error:#?}").unwrap();
        }
    }
    assert!(echo.seen()[0].contains("Bearer canary"), "the proxy was not asked");
    for client in [client(), proxied(nobody)] {
        write!(texts, "{client:?}").unwrap();
        for address in [echo.address, html.address, away.address, broken.address, nobody] {
            for scheme in ["http", "https"] {
                let url = format!("{scheme}://{address}/x?token=canary");
                let request = || {
                    let mut request = get(&url);
                    request.headers_mut().insert("x-api-key", "canary".parse().unwrap());
                    request
                };
                if let Err(error) = client.send(request()).await {
                    write!(texts, "{error} {error:?} {error:#?}").unwrap();
                }
                let error = client.open(request(), None).await.err().unwrap();
                write!(texts, "{error} {error:?} {error:#?}").unwrap();
            }
        }
        for url in ["ftp://example.test/?canary", "https://canary:canary@127.0.0.1/?canary"] {
            let error = client.send(get(url)).await.unwrap_err();
            assert_eq!(error.layer(), ProbeLayer::Url);
            write!(texts, "{error} {error:?}").unwrap();
        }
    }
    drop(guard);
    assert!(!texts.contains("canary"), "{texts}");
    let log = log.0.lock().unwrap();
    assert!(log.contains(&format!("{}/x", echo.address)), "the log saw no request: {log}");
    assert!(!log.contains("canary"), "{log}");
}
