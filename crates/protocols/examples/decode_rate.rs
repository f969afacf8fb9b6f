//! How fast frames become domain events: 200,000 frames of about 200 bytes each, on one thread, without storing them.
//!
//! `cargo run --release -p protocols --example decode_rate` prints one line per kind of frame.

use std::{
    error::Error,
    io::{Write, stdout},
    time::Instant,
};

use contract::{
    server::ServerOptions,
    wire::{Frame, Origin},
};
use protocols::{Endpoint, Seen, family};

const FRAMES: i64 = 200_000;

/// Makes the frame with this number.
type Make = fn(i64) -> Frame;

fn main() -> Result<(), Box<dyn Error>> {
    let kinds: [(&str, Make); 4] = [
        ("event_delta", preview),
        ("agent.message (newest)", message),
        ("agent.message (seed chunks)", seed_chunk),
        ("agent.tool_use + result", tool),
    ];
    for (kind, make) in kinds {
        let mut best = f64::MAX;
        let (mut bytes, mut events) = (0, 0);
        for _ in 0..5 {
            let frames: Vec<Frame> = (0..FRAMES).map(make).collect();
            bytes = frames.iter().map(|frame| frame.data.len()).sum();
            let seconds = decode(&frames, &mut events)?;
            best = best.min(seconds);
        }
        let count = f64::from(u32::try_from(FRAMES)?);
        writeln!(
            stdout(),
            "{kind}: {:.0} frames/s, {:.3} µs each, {} bytes each, {events} events",
            count / best,
            best / count * 1e6,
            bytes / usize::try_from(FRAMES)?,
        )?;
    }
    Ok(())
}

/// Seconds for all frames.
fn decode(frames: &[Frame], events: &mut usize) -> Result<f64, Box<dyn Error>> {
    let family = family("managed").ok_or("the protocol is missing")?;
    let base = "http://127.0.0.1/v1".parse()?;
    let mut codec = family.speak(Endpoint { base, options: ServerOptions::default() }).codec();
    let mut out = Vec::with_capacity(64);
    let start = Instant::now();
    *events = 0;
    for (position, frame) in (0..).zip(frames) {
        let parsed = codec.parse(frame);
        codec.fold(parsed, Seen { origin: Origin::Stream, received_at: 0, position }, &mut out);
        *events += out.len();
        out.clear();
    }
    Ok(start.elapsed().as_secs_f64())
}

const WORDS: &str = "The quick brown fox jumps over the lazy dog, twice.";

fn frame(id: String, name: &str, data: String) -> Frame {
    Frame { id: Some(id), name: Some(name.to_owned()), data, ..Frame::default() }
}

fn preview(number: i64) -> Frame {
    let of = number / 100;
    let data = format!(
        r#"{{"type":"event_delta","event_id":"evt_{of:024}","delta":{{"type":"content_delta","index":0,"content":{{"type":"text","text":"{WORDS}"}}}}}}"#
    );
    frame(format!("evt_{of:024}"), "event_delta", data)
}

fn message(number: i64) -> Frame {
    let data = format!(
        r#"{{"id":"evt_{number:024}","type":"agent.message","content":[{{"type":"text","text":"{WORDS}"}}],"processed_at":"2026-09-01T08:00:01.123456Z"}}"#
    );
    frame(format!("evt_{number:024}"), "agent.message", data)
}

fn seed_chunk(number: i64) -> Frame {
    let turn = number / 100;
    let data = format!(
        r#"{{"id":"evt_{number:024}","type":"agent.message","turn_id":"turn_{turn:08}","session_id":"sess_1","created_at":"2026-09-01T08:00:01Z","content":[{{"type":"text","text":"{WORDS}"}}]}}"#
    );
    frame(format!("evt_{number:024}"), "agent.message", data)
}

fn tool(number: i64) -> Frame {
    let call = number / 2;
    let (name, rest) = if number % 2 == 0 {
        (
            "agent.tool_use",
            format!(
                r#""id":"evt_u{call:020}","name":"Bash","input":{{"command":"ls -l /srv/{call}"}},"evaluated_permission":"allow""#
            ),
        )
    } else {
        (
            "agent.tool_result",
            format!(
                r#""id":"evt_r{call:020}","tool_use_id":"evt_u{call:020}","content":[{{"type":"text","text":"{WORDS}"}}]"#
            ),
        )
    };
    let data = format!(r#"{{"type":"{name}",{rest},"processed_at":"2026-09-01T08:00:01.123456Z"}}"#);
    frame(format!("evt_{number:024}"), name, data)
}
