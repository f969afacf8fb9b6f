//! The plain client: requests and answers as values of the `http` crate, and event streams as streams of bytes.
//!
//! It promises: bodies are capped; loopback is never reached through a proxy; a redirect is followed only within
//! the origin, so a token never leaves it; and no token appears in an error, a `Debug` text or a log line.

mod address;
mod error;
mod layer;
mod redirect;
mod whole;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream::BoxStream};
use http::{HeaderMap, HeaderName, StatusCode, header};
use hyper_util::client::proxy::matcher::Matcher;
use tokio::time::timeout;

pub use self::{
    address::redacted,
    error::{BodyError, OpenError, SendError},
    redirect::{MAX_REDIRECTS, RedirectRefused},
};

use self::address::Target;

/// How much of the body of a refusal is read (bytes).
pub const REFUSAL_KEPT: usize = 64 * 1024;
/// How much is read of an answer that is no event stream (bytes).
pub const NOT_A_STREAM_KEPT: usize = 4 * 1024;

/// How long the body of a refused stream may take.
const REFUSAL_LIMIT: Duration = Duration::from_secs(5);
/// Idle sockets are asked for life this often, so that a dead one is found under a stream that has no heartbeat.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The bytes of an open stream, as they come.
pub type ByteStream = BoxStream<'static, Result<Bytes, BodyError>>;

/// Limits and ways of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// How long finding the host, connecting and TLS may take together.
    pub connect: Duration,
    /// How long a whole [`Client::send`] may take, body included. Streams have no such limit.
    pub total: Duration,
    /// The cap on the body of an answer (bytes).
    pub body_cap: usize,
    /// Which proxy is used for hosts other than this computer.
    pub proxy: ProxyChoice,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(30),
            body_cap: crate::frame::DEFAULT_EVENT_CAP,
            proxy: ProxyChoice::System,
        }
    }
}

/// Which proxy is used. Loopback never is, whatever is chosen.
#[derive(Clone, Default)]
pub enum ProxyChoice {
    /// What the environment and the system say.
    #[default]
    System,
    /// None.
    Direct,
    /// This one, given by its address.
    Fixed(String),
}

impl fmt::Debug for ProxyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a login.
        f.write_str(match self {
            Self::System => "System",
            Self::Direct => "Direct",
            Self::Fixed(_) => "Fixed(redacted)",
        })
    }
}

/// Sends requests and opens streams. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    options: ClientOptions,
    matcher: Option<Matcher>,
    direct: OnceLock<reqwest::Client>,
    proxied: OnceLock<reqwest::Client>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("options", &self.inner.options).finish_non_exhaustive()
    }
}

impl Client {
    /// A client with these options. Nothing is opened or read before the first request.
    pub fn new(options: ClientOptions) -> Self {
        let matcher = match &options.proxy {
            ProxyChoice::System => Some(Matcher::from_system()),
            ProxyChoice::Direct => None,
            ProxyChoice::Fixed(address) => Some(Matcher::builder().all(address.clone()).build()),
        };
        Self { inner: Arc::new(Inner { options, matcher, direct: OnceLock::new(), proxied: OnceLock::new() }) }
    }

    /// Sends a request and reads the whole answer, whatever its status.
    ///
    /// # Errors
    /// [`SendError`], which names the layer that failed and says whether the request may have arrived.
    pub async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, SendError> {
        let options = &self.inner.options;
        let whole = async {
            let response = self.exchange(request).await?;
            let (head, body) = taken_apart(response);
            let status = head.status;
            match capped(body, options.body_cap).await? {
                Some(body) => Ok(http::Response::from_parts(head, body)),
                None => Err(SendError::TooLarge { cap: options.body_cap, status }),
            }
        };
        timeout(options.total, whole).await.unwrap_or(Err(SendError::TimedOut { limit: options.total }))
    }

    /// Opens an event stream. `answer` limits the wait for the server's answer; the stream itself has no limit.
    /// Give `None` where giving up would lose work.
    ///
    /// # Errors
    /// [`OpenError`]: no connection, a status that is no success (or 204), or an answer that is no event stream.
    pub async fn open(&self, request: http::Request<Bytes>, answer: Option<Duration>) -> Result<ByteStream, OpenError> {
        let exchange = self.exchange(request);
        let response = match answer {
            None => exchange.await?,
            Some(limit) => timeout(limit, exchange).await.unwrap_or(Err(SendError::TimedOut { limit }))?,
        };
        let (head, body) = taken_apart(response);
        if !head.status.is_success() || head.status == StatusCode::NO_CONTENT {
            let start = start(body, REFUSAL_KEPT).await;
            return Err(OpenError::Refused(Box::new(http::Response::from_parts(head, start))));
        }
        if !is_event_stream(&head.headers) {
            let content_type = content_type(&head.headers).map(ToOwned::to_owned);
            let start = start(body, NOT_A_STREAM_KEPT).await;
            return Err(OpenError::NotAStream { status: head.status, content_type, start });
        }
        Ok(body)
    }

    /// The same, where the answer may also come whole, as JSON: then the stream is one event with this name and that
    /// body.
    ///
    /// # Errors
    /// [`OpenError`]: no connection, a status that is no success (or 204), or an answer that is neither.
    pub async fn open_or_whole(
        &self,
        request: http::Request<Bytes>,
        name: &'static str,
    ) -> Result<ByteStream, OpenError> {
        let (head, body) = taken_apart(self.exchange(request).await?);
        if !head.status.is_success() || head.status == StatusCode::NO_CONTENT {
            let start = start(body, REFUSAL_KEPT).await;
            return Err(OpenError::Refused(Box::new(http::Response::from_parts(head, start))));
        }
        if is_event_stream(&head.headers) {
            return Ok(body);
        }
        if whole::is_json(content_type(&head.headers)) {
            return Ok(whole::as_event(body, name));
        }
        let content_type = content_type(&head.headers).map(ToOwned::to_owned);
        let start = start(body, NOT_A_STREAM_KEPT).await;
        Err(OpenError::NotAStream { status: head.status, content_type, start })
    }

    /// Sends a request, follows redirects within the origin, and gives back the answer's head.
    async fn exchange(&self, mut request: http::Request<Bytes>) -> Result<reqwest::Response, SendError> {
        for name in [header::AUTHORIZATION, HeaderName::from_static("x-api-key"), header::COOKIE] {
            if let Some(value) = request.headers_mut().get_mut(name) {
                value.set_sensitive(true);
            }
        }
        let target = Target::of(request.uri())?;
        let proxied = !target.loopback
            && self.inner.matcher.as_ref().is_some_and(|matcher| matcher.intercept(request.uri()).is_some());
        let client = self.inner.client(proxied)?;
        for _ in 0..=MAX_REDIRECTS {
            let url = redacted(request.uri());
            tracing::debug!(method = %request.method(), url, "request");
            let sent = reqwest::Request::try_from(request.clone())
                .map_err(|error| SendError::Url { reason: layer::chain(&error.without_url()) })?;
            let response = client.execute(sent).await.map_err(|error| layer::classify(error, &target, proxied))?;
            tracing::debug!(status = response.status().as_u16(), url, "answer");
            if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
                return Err(SendError::ProxyLogin);
            }
            match redirect::next(&request, response.status(), response.headers())? {
                Some(next) => request = next,
                None => return Ok(response),
            }
        }
        Err(RedirectRefused::TooMany.into())
    }
}

impl Inner {
    fn client(&self, proxied: bool) -> Result<&reqwest::Client, SendError> {
        let slot = if proxied { &self.proxied } else { &self.direct };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("Countersign/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(self.options.connect)
            .tcp_keepalive(KEEP_ALIVE)
            .http2_adaptive_window(true);
        builder = match (&self.options.proxy, proxied) {
            (_, false) | (ProxyChoice::Direct, true) => builder.no_proxy(),
            (ProxyChoice::System, true) => builder,
            (ProxyChoice::Fixed(address), true) => {
                let proxy = reqwest::Proxy::all(address).map_err(SendError::from_set_up)?;
                builder.no_proxy().proxy(proxy)
            }
        };
        let client = builder.build().map_err(SendError::from_set_up)?;
        Ok(slot.get_or_init(|| client))
    }
}

/// Opens streams: the [`Client`], or a stand-in in tests.
pub trait Opener: Send + Sync {
    /// As [`Client::open`].
    fn open(
        &self,
        request: http::Request<Bytes>,
        answer: Option<Duration>,
    ) -> BoxFuture<'static, Result<ByteStream, OpenError>>;
}

impl Opener for Client {
    fn open(
        &self,
        request: http::Request<Bytes>,
        answer: Option<Duration>,
    ) -> BoxFuture<'static, Result<ByteStream, OpenError>> {
        let client = self.clone();
        async move { Client::open(&client, request, answer).await }.boxed()
    }
}

fn taken_apart(response: reqwest::Response) -> (http::response::Parts, ByteStream) {
    let (mut head, ()) = http::Response::new(()).into_parts();
    head.status = response.status();
    head.version = response.version();
    head.headers = response.headers().clone();
    (head, response.bytes_stream().map_err(BodyError::from_client).boxed())
}

/// The whole body, or `None` where it is over the cap.
async fn capped(mut body: ByteStream, cap: usize) -> Result<Option<Bytes>, BodyError> {
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk?;
        if chunk.len() > cap - whole.len() {
            return Ok(None);
        }
        if whole.is_empty() {
            whole = BytesMut::from(chunk);
        } else {
            whole.extend_from_slice(&chunk);
        }
    }
    Ok(Some(whole.freeze()))
}

/// The first bytes of a body that only explains a failure: as much as comes, without a failure of its own.
async fn start(mut body: ByteStream, cap: usize) -> Bytes {
    let mut start = BytesMut::new();
    let reading = async {
        while start.len() < cap {
            let Some(Ok(chunk)) = body.next().await else { break };
            start.extend_from_slice(chunk.get(..cap - start.len()).unwrap_or(&chunk));
        }
    };
    // What came within the limit is all there is to show.
    let _ = timeout(REFUSAL_LIMIT, reading).await;
    start.freeze()
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok())
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let essence = content_type(headers).and_then(|value| value.split(';').next()).map(str::trim);
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("text/event-stream"))
}

#[cfg(test)]
mod tests;
