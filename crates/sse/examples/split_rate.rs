//! How many 200-byte events a second one thread splits and parses, and how long one large event takes:
//! `cargo run --release -p sse --example split_rate`.

use std::{hint::black_box, time::Instant};

use sse::frame::Splitter;

const EVENTS: usize = 200_000;
const ROUNDS: usize = 5;

fn main() {
    let mut stream = Vec::new();
    for number in 0..EVENTS {
        let head = format!(
            "id: evt_{number:012}\nevent: agent.message\ndata: {{\"type\":\"agent.message\",\"id\":\"evt_{number:012}\",\"text\":\""
        );
        let tail = "\"}\n\n";
        stream.extend_from_slice(head.as_bytes());
        stream.extend(std::iter::repeat_n(b'x', 200 - head.len() - tail.len()));
        stream.extend_from_slice(tail.as_bytes());
    }
    for (case, chunk) in [("4 KiB", 4096), ("16 KiB", 16 * 1024), ("256 KiB", 256 * 1024), ("200 B", 200)] {
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let mut splitter = Splitter::default();
            let mut pieces = Vec::new();
            let mut seen = 0;
            let start = Instant::now();
            for bytes in stream.chunks(chunk) {
                pieces.clear();
                if splitter.push(bytes, &mut pieces).is_err() {
                    return;
                }
                seen += black_box(&pieces).len();
            }
            assert_eq!(seen, EVENTS);
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("chunks of {case}: {:.0} events/s", EVENTS as f64 / best);
    }
    let one_line = [b"data: ".as_slice(), &vec![b'x'; 20_000_000], b"\n\n"].concat();
    let many_lines = [b"data: 0123456789\n".repeat(20_000_000 / 17).as_slice(), b"\n"].concat();
    for (case, event) in [("one line", one_line), ("many lines", many_lines)] {
        let mut splitter = Splitter::default();
        let mut pieces = Vec::new();
        let start = Instant::now();
        for bytes in event.chunks(16 * 1024) {
            if splitter.push(bytes, &mut pieces).is_err() {
                return;
            }
        }
        assert_eq!(black_box(&pieces).len(), 1);
        println!("one event of 20 MB, {case}: {} ms", start.elapsed().as_millis());
    }
}
