//! The ways the server misbehaves on request.

use serde::{Deserialize, Serialize};

/// A fault of the next matching requests, whatever they ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFault {
    /// Only requests of this method.
    #[serde(default)]
    pub method: Option<String>,
    /// Only requests whose path (without the query) contains this.
    #[serde(default)]
    pub path: Option<String>,
    /// For how many requests.
    #[serde(default = "once")]
    pub times: u32,
    /// What happens to them.
    pub act: RequestAct,
}

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestAct {
    /// It is refused.
    Status {
        /// With this status.
        status: u16,
        /// With this body.
        #[serde(default)]
        body: FaultBody,
        /// With this `Retry-After`.
        #[serde(default)]
        retry_after: Option<String>,
    },
    /// It is carried out, and then the connection is cut before the answer.
    LoseAnswer,
    /// The connection is cut before it is carried out.
    Reset,
    /// It is carried out after so many milliseconds.
    Delay {
        /// How long.
        ms: u64,
    },
    /// It is carried out once [`Control::let_through`](crate::Control::let_through) says its name.
    Hold {
        /// Its name.
        name: String,
    },
    /// It is carried out at once, and answered once [`Control::let_through`](crate::Control::let_through) says its name.
    HoldAnswer {
        /// Its name.
        name: String,
    },
    /// It is read, and nothing ever comes back.
    HalfOpen,
    /// It is carried out and answered with another content type.
    ContentType {
        /// Which.
        value: String,
    },
    /// It is not carried out and answered with exactly this.
    Reply {
        /// The status.
        status: u16,
        /// The content type.
        content_type: String,
        /// The body.
        body: String,
    },
    /// It is answered with a redirect and not carried out.
    Redirect {
        /// Where to.
        location: String,
    },
}

/// The body of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultBody {
    /// The error envelope of the wire page (§2).
    #[default]
    Json,
    /// Nothing.
    Empty,
    /// A gateway's HTML.
    Html,
}

/// A fault of the next matching streams. Several can hold for one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamFault {
    /// Only streams of this session.
    #[serde(default)]
    pub session: Option<String>,
    /// For how many streams.
    #[serde(default = "once")]
    pub times: u32,
    /// What happens to them.
    pub act: StreamAct,
}

/// What happens to a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamAct {
    /// Cut after exactly so many bytes of the body.
    CutAtByte {
        /// How many.
        bytes: u64,
    },
    /// Cut after so many frames.
    CutAfter {
        /// How many.
        frames: u64,
    },
    /// Ended cleanly after so many frames.
    EndAfter {
        /// How many.
        frames: u64,
    },
    /// Every frame comes twice.
    Duplicate,
    /// Behind `after` frames, the next `count` come in reverse order.
    Reverse {
        /// How many pass as they are.
        after: u64,
        /// How many are turned round.
        count: usize,
    },
    /// Behind so many frames nothing comes any more, no heartbeat either, and the connection stays open.
    Stall {
        /// How many.
        after: u64,
    },
    /// A few bytes at a time.
    Drip {
        /// How many.
        bytes: usize,
        /// How long between them, in milliseconds.
        every_ms: u64,
    },
    /// Behind so many frames comes an event of so many bytes that no list knows.
    Oversized {
        /// Behind how many.
        after: u64,
        /// Its size.
        bytes: usize,
    },
    /// The text of the frame behind so many frames holds bytes that are not UTF-8.
    BadUtf8 {
        /// Behind how many.
        after: u64,
    },
    /// Another content type.
    ContentType {
        /// Which.
        value: String,
    },
    /// A cursor is refused with this status (expired); streams without one are served.
    ExpiredCursor {
        /// 400 or 404.
        status: u16,
    },
    /// Lines end in CR LF, as some servers and proxies write them.
    CrLf,
    /// A comment stands in front of every frame.
    Comments,
    /// The data of every frame is split over two lines where it has two members.
    DataLines,
    /// Frames have no `event:` line.
    NoNames,
}

fn once() -> u32 {
    1
}

/// The faults that are armed.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) requests: Vec<RequestFault>,
    pub(crate) streams: Vec<StreamFault>,
}

impl Faults {
    /// Takes what happens to this request: the first armed fault that matches.
    pub(crate) fn take_request(&mut self, method: &str, path: &str) -> Option<RequestAct> {
        let fault = self.requests.iter_mut().find(|fault| {
            fault.times > 0
                && fault.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
                && fault.path.as_deref().is_none_or(|wanted| path.contains(wanted))
        })?;
        fault.times -= 1;
        let act = fault.act.clone();
        self.requests.retain(|fault| fault.times > 0);
        Some(act)
    }

    /// Takes what happens to this stream. An expired cursor counts only for streams that have one.
    pub(crate) fn take_stream(&mut self, session: &str, has_cursor: bool) -> Vec<StreamAct> {
        let mut acts = Vec::new();
        for fault in &mut self.streams {
            let about_cursor = matches!(fault.act, StreamAct::ExpiredCursor { .. });
            let mine = fault.session.as_deref().is_none_or(|wanted| wanted == session);
            if mine && fault.times > 0 && (has_cursor || !about_cursor) {
                fault.times -= 1;
                acts.push(fault.act.clone());
            }
        }
        self.streams.retain(|fault| fault.times > 0);
        acts
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_request_fault_counts_down_and_matches_method_and_path() {
        let act = RequestAct::Status { status: 429, body: FaultBody::Empty, retry_after: Some("1".into()) };
        let fault = RequestFault { method: Some("POST".into()), path: Some("/events".into()), times: 2, act };
        let mut faults = Faults { requests: vec![fault.clone()], streams: Vec::new() };
        assert_eq!(faults.take_request("GET", "/v1/sessions/s/events"), None);
        assert_eq!(faults.take_request("POST", "/v1/sessions"), None);
        assert_eq!(faults.take_request("POST", "/v1/sessions/s/events"), Some(fault.act.clone()));
        assert_eq!(faults.take_request("POST", "/v1/sessions/s/events"), Some(fault.act));
        assert_eq!(faults.take_request("POST", "/v1/sessions/s/events"), None);
    }

    #[test]
    fn an_expired_cursor_spares_streams_without_one() {
        let fault = StreamFault { session: None, times: 1, act: StreamAct::ExpiredCursor { status: 404 } };
        let mut faults = Faults { requests: Vec::new(), streams: vec![fault.clone()] };
        assert_eq!(faults.take_stream("s", false), []);
        assert_eq!(faults.take_stream("s", true), [fault.act]);
    }
}
