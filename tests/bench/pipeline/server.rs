//! A server that has one session and sends its stream as fast as it can: 200-byte blocks, made before the clock starts.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use anyhow::Result;

/// Bytes of one block, its blank line included.
pub const BLOCK: usize = 200;

/// The session's id; the number behind the dash is the number of its events.
#[must_use]
pub fn session(events: usize) -> String {
    format!("sess-{events}")
}

/// Starts the server on a thread of its own and gives its port. It ends with the process.
///
/// # Errors
/// When no port can be had.
pub fn start(most: usize) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let blocks: Arc<[u8]> = blocks(most).into();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || {
                // A client that hangs up has what it wanted.
                let _ = serve(connection, &blocks, most);
            });
        }
    });
    Ok(port)
}

fn serve(mut connection: TcpStream, blocks: &[u8], most: usize) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let Some(end) = head_end(&buffer) else {
            let mut chunk = [0; 4096];
            let read = connection.read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            buffer.extend_from_slice(chunk.get(..read).unwrap_or_default());
            continue;
        };
        let head = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).into_owned();
        buffer.drain(..end);
        let path = head.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        if let Some(session) = path.strip_suffix("/events/stream") {
            let events = session.rsplit('-').next().and_then(|count| count.parse().ok()).unwrap_or(most).min(most);
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
            connection.write_all(blocks.get(..(events - 1) * BLOCK).unwrap_or_default())?;
            connection.write_all(last(events).as_bytes())?;
            return Ok(());
        }
        let one = format!(r#"{{"id":"{}","type":"session","status":"running","title":"Bench"}}"#, session(most));
        let body = if path.ends_with("/sessions") {
            format!(r#"{{"data":[{one}],"next_page":null,"has_more":false}}"#)
        } else if path.ends_with(&session(most)) {
            one
        } else {
            r#"{"data":[],"next_page":null,"has_more":false}"#.to_owned()
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        connection.write_all(head.as_bytes())?;
        connection.write_all(body.as_bytes())?;
    }
}

fn head_end(buffer: &[u8]) -> Option<usize> {
    buffer.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

fn blocks(events: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(events * BLOCK);
    for number in 0..events.saturating_sub(1) {
        all.extend_from_slice(block(number).as_bytes());
    }
    all
}

/// A message, a tool call or its result, filled up to [`BLOCK`] bytes.
fn block(number: usize) -> String {
    let (name, before, after) = match number % 3 {
        0 => ("agent.message", r#""content":[{"type":"text","text":""#.to_owned(), r#""}]"#),
        1 => ("agent.tool_use", r#""name":"Bash","input":{"command":"ls "#.to_owned(), r#""}"#),
        _ => (
            "agent.tool_result",
            format!(r#""tool_use_id":"e{:07}","content":[{{"type":"text","text":""#, number - 1),
            r#""}]"#,
        ),
    };
    let start =
        format!("id: e{number:07}\nevent: {name}\ndata: {{\"id\":\"e{number:07}\",\"type\":\"{name}\",{before}");
    let end = format!("{after}}}\n\n");
    let fill = BLOCK.saturating_sub(start.len() + end.len());
    format!("{start}{}{end}", "x".repeat(fill))
}

fn last(events: usize) -> String {
    format!(
        "id: e{events:07}\nevent: session.status_terminated\ndata: {{\"id\":\"e{events:07}\",\"type\":\"session.status_terminated\"}}\n\n"
    )
}
