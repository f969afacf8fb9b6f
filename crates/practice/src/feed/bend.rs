//! How a stream is bent by its faults: frame by frame, then byte by byte.

use std::{collections::VecDeque, time::Duration};

use bytes::{Bytes, BytesMut};

use crate::fault::StreamAct;

/// The faults of one stream and how far it got.
#[derive(Default)]
pub(crate) struct Bend {
    acts: Vec<StreamAct>,
    oversized: Option<fn(&str) -> String>,
    frames: u64,
    turned: Vec<Bytes>,
    bytes_left: Option<u64>,
    drip: Option<(usize, Duration)>,
    crlf: bool,
    end: End,
    cut: bool,
}

/// What comes behind what is already on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum End {
    #[default]
    Open,
    Cut,
    Ended,
    Silent,
}

impl Bend {
    pub(crate) fn new(acts: Vec<StreamAct>) -> Self {
        let mut bend = Self::default();
        for act in &acts {
            match act {
                StreamAct::CutAtByte { bytes } => bend.bytes_left = Some(*bytes),
                StreamAct::Drip { bytes, every_ms } => {
                    bend.drip = Some(((*bytes).max(1), Duration::from_millis(*every_ms)));
                }
                StreamAct::CrLf => bend.crlf = true,
                _ => {}
            }
        }
        bend.acts = acts;
        let mut nothing = VecDeque::new();
        bend.reached(&mut nothing);
        bend
    }

    /// As [`Bend::new`], for streams whose oversized frame is this one with the text it is given.
    pub(crate) fn with_oversized(acts: Vec<StreamAct>, oversized: fn(&str) -> String) -> Self {
        Self { oversized: Some(oversized), ..Self::new(acts) }
    }

    /// Puts one frame on its way, as the faults want it.
    pub(crate) fn frame(&mut self, frame: Bytes, out: &mut VecDeque<Bytes>) {
        if self.end != End::Open {
            return;
        }
        let frame = self.spoilt(frame);
        if let Some(count) = self.turning() {
            self.turned.push(frame);
            if self.turned.len() >= count {
                self.turn(out);
            }
        } else {
            self.pass(frame, out);
        }
    }

    /// The stream ends by itself: what was held back goes out.
    pub(crate) fn finish(&mut self, out: &mut VecDeque<Bytes>) {
        self.turn(out);
    }

    fn turning(&self) -> Option<usize> {
        self.acts.iter().find_map(|act| match act {
            StreamAct::Reverse { after, count } if *after <= self.frames && self.frames < after + *count as u64 => {
                Some(*count)
            }
            _ => None,
        })
    }

    fn turn(&mut self, out: &mut VecDeque<Bytes>) {
        for frame in std::mem::take(&mut self.turned).into_iter().rev() {
            self.pass(frame, out);
        }
    }

    fn pass(&mut self, frame: Bytes, out: &mut VecDeque<Bytes>) {
        if self.acts.contains(&StreamAct::Duplicate) {
            out.push_back(frame.clone());
        }
        out.push_back(frame);
        self.frames += 1;
        self.reached(out);
    }

    /// Looks what is due behind the frames so far.
    fn reached(&mut self, out: &mut VecDeque<Bytes>) {
        for act in &self.acts {
            match act {
                StreamAct::Oversized { after, bytes } if *after == self.frames => {
                    let text = "x".repeat(*bytes);
                    out.push_back(self.oversized.unwrap_or(oversized)(&text).into());
                }
                StreamAct::CutAfter { frames } if *frames == self.frames => self.end = End::Cut,
                StreamAct::EndAfter { frames } if *frames == self.frames => self.end = End::Ended,
                StreamAct::Stall { after } if *after == self.frames => self.end = End::Silent,
                _ => {}
            }
        }
    }

    fn spoilt(&self, frame: Bytes) -> Bytes {
        let bad = self.acts.iter().any(|act| matches!(act, StreamAct::BadUtf8 { after } if *after == self.frames));
        let frame = if bad { spoil(&frame) } else { frame };
        let frame = self.rewritten(frame);
        if self.crlf { crlf(&frame) } else { frame }
    }

    /// The same frame in another writing that SSE allows as well.
    fn rewritten(&self, frame: Bytes) -> Bytes {
        self.acts.iter().fold(frame, |frame, act| match act {
            StreamAct::Comments => [b": comment\n", &frame[..]].concat().into(),
            StreamAct::DataLines => split_data(&frame),
            StreamAct::NoNames => without_name(&frame),
            _ => frame,
        })
    }

    /// Cuts a chunk to what may go out now. `None` = nothing may.
    pub(crate) fn limit(&mut self, bytes: Bytes) -> Option<(Bytes, Option<Bytes>)> {
        let mut now = bytes;
        let mut later = None;
        if let Some((most, _)) = self.drip
            && now.len() > most
        {
            later = Some(now.split_off(most));
        }
        if let Some(left) = &mut self.bytes_left {
            if *left <= now.len() as u64 {
                now.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                self.cut = true;
                self.bytes_left = Some(0);
                return if now.is_empty() { None } else { Some((now, None)) };
            }
            *left -= now.len() as u64;
        }
        Some((now, later))
    }

    /// Bytes are counted: chunks are not to be joined.
    pub(crate) fn is_busy(&self) -> bool {
        self.drip.is_some() || self.bytes_left.is_some()
    }

    /// The time between two drips.
    pub(crate) async fn wait(&self) {
        if let Some((_, every)) = self.drip {
            tokio::time::sleep(every).await;
        }
    }

    /// Nothing more goes out, not even what is on its way.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn is_ended(&mut self) -> bool {
        if self.end == End::Cut {
            self.cut = true;
        }
        self.end == End::Ended
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.end == End::Silent
    }

    pub(crate) fn silence(&mut self) {
        self.end = End::Silent;
    }
}

/// Puts bytes that are not UTF-8 into the first string of the data.
fn spoil(frame: &[u8]) -> Bytes {
    let marks: [&[u8]; 2] = [b"\"text\":\"", b":\""];
    let at = marks
        .iter()
        .find_map(|mark| frame.windows(mark.len()).position(|window| window == *mark).map(|at| at + mark.len()));
    let (head, tail) = frame.split_at(at.unwrap_or(frame.len()));
    let mut spoilt = BytesMut::with_capacity(frame.len() + 2);
    spoilt.extend_from_slice(head);
    spoilt.extend_from_slice(&[0xFF, 0xC3]);
    spoilt.extend_from_slice(tail);
    spoilt.freeze()
}

/// What an oversized frame is unless its stream has another.
fn oversized(text: &str) -> String {
    let json = format!(
        r#"{{"id":"evt_oversized","type":"agent.tool_result","tool_use_id":"evt_none","content":[{{"type":"text","text":"{text}"}}]}}"#
    );
    format!("id: evt_oversized\nevent: agent.tool_result\ndata: {json}\n\n")
}

/// The data over two lines: joined by a line feed, which is a space between two members of a JSON object.
fn split_data(frame: &[u8]) -> Bytes {
    let text = String::from_utf8_lossy(frame);
    match text.split_once(",\"") {
        Some((head, tail)) => format!("{head},\ndata: \"{tail}").into(),
        None => Bytes::copy_from_slice(frame),
    }
}

/// Without its `event:` line.
fn without_name(frame: &[u8]) -> Bytes {
    let lines = frame.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"event:"));
    lines.collect::<Vec<_>>().concat().into()
}

fn crlf(frame: &[u8]) -> Bytes {
    let mut lines = BytesMut::with_capacity(frame.len() + 8);
    for byte in frame {
        if *byte == b'\n' {
            lines.extend_from_slice(b"\r");
        }
        lines.extend_from_slice(&[*byte]);
    }
    lines.freeze()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn run(acts: Vec<StreamAct>, frames: &[&'static str]) -> (Bend, Vec<Bytes>) {
        let mut bend = Bend::new(acts);
        let mut out = VecDeque::new();
        for frame in frames {
            bend.frame(Bytes::from_static(frame.as_bytes()), &mut out);
        }
        (bend, out.into())
    }

    #[test]
    fn frames_are_doubled_turned_and_stopped() {
        let (_, out) = run(vec![StreamAct::Duplicate], &["a", "b"]);
        assert_eq!(out, ["a", "a", "b", "b"]);
        let (_, out) = run(vec![StreamAct::Reverse { after: 1, count: 2 }], &["a", "b", "c", "d"]);
        assert_eq!(out, ["a", "c", "b", "d"]);
        let (mut bend, out) = run(vec![StreamAct::EndAfter { frames: 1 }], &["a", "b"]);
        assert_eq!(out, ["a"]);
        assert!(bend.is_ended());
        let (bend, out) = run(vec![StreamAct::Stall { after: 0 }], &["a"]);
        assert!(out.is_empty() && bend.is_silent());
    }

    #[test]
    fn the_cut_is_at_the_very_byte() {
        let mut bend = Bend::new(vec![StreamAct::CutAtByte { bytes: 5 }]);
        assert_eq!(bend.limit(Bytes::from_static(b"abc")), Some((Bytes::from_static(b"abc"), None)));
        assert_eq!(bend.limit(Bytes::from_static(b"defg")), Some((Bytes::from_static(b"de"), None)));
        assert!(bend.is_cut());
        assert_eq!(bend.limit(Bytes::from_static(b"h")), None);
    }

    #[test]
    fn a_drip_lets_a_few_bytes_through() {
        let mut bend = Bend::new(vec![StreamAct::Drip { bytes: 2, every_ms: 0 }]);
        let (now, later) = bend.limit(Bytes::from_static(b"abc")).unwrap();
        assert_eq!((now, later), (Bytes::from_static(b"ab"), Some(Bytes::from_static(b"c"))));
    }

    #[test]
    fn frames_can_be_written_in_other_ways_that_mean_the_same() {
        let frame = "event: a\ndata: {\"type\":\"b\",\"text\":\"c\"}\n\n";
        let (_, out) = run(vec![StreamAct::Comments], &[frame]);
        assert_eq!(out, [format!(": comment\n{frame}")]);
        let (_, out) = run(vec![StreamAct::DataLines, StreamAct::NoNames], &[frame]);
        assert_eq!(out, ["data: {\"type\":\"b\",\ndata: \"text\":\"c\"}\n\n"]);
    }

    #[test]
    fn spoilt_text_is_not_utf_8_and_lines_can_end_in_cr_lf() {
        let spoilt = spoil(b"event: a\ndata: {\"text\":\"hi\"}\n\n");
        assert!(std::str::from_utf8(&spoilt).is_err());
        assert!(spoilt.ends_with(b"hi\"}\n\n"));
        assert_eq!(crlf(b"a\n\n"), "a\r\n\r\n");
    }
}
