//! An answer that comes whole, told as the one event of a stream: what reads streams reads it, too.

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{StreamExt, stream};

use super::ByteStream;

/// Whether a media type is JSON (`application/json`, `application/problem+json`, …).
pub(super) fn is_json(content_type: Option<&str>) -> bool {
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// A JSON body as one block: a line of it is a `data:` line. Carriage returns, which JSON holds between its values only,
/// are left out. The block ends with the body, so that one that breaks off is no event.
pub(super) fn as_event(body: ByteStream, name: &str) -> ByteStream {
    let head = Bytes::from(format!("event: {name}\ndata: "));
    let lines = body.map(|chunk| chunk.map(|bytes| lined(&bytes)));
    let one = |bytes: Bytes| stream::once(async move { Ok(bytes) });
    // What follows an error is never read.
    one(head).chain(lines).chain(one(Bytes::from_static(b"\n\n"))).boxed()
}

fn lined(bytes: &Bytes) -> Bytes {
    if !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return bytes.clone();
    }
    let mut lined = BytesMut::with_capacity(bytes.len() + 64);
    for byte in bytes {
        match byte {
            b'\r' => {}
            b'\n' => lined.put_slice(b"\ndata: "),
            other => lined.put_u8(*other),
        }
    }
    lined.freeze()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::{
        client::BodyError,
        frame::{Piece, Splitter},
    };

    async fn read(chunks: Vec<Result<&'static [u8], ()>>) -> (Vec<(Option<String>, String)>, bool) {
        let body = chunks.into_iter().map(|chunk| match chunk {
            Ok(bytes) => Ok(Bytes::from_static(bytes)),
            Err(()) => Err(BodyError::new("broken")),
        });
        let mut stream = as_event(stream::iter(body.collect::<Vec<_>>()).boxed(), "turn");
        let mut splitter = Splitter::default();
        let mut frames = Vec::new();
        while let Some(chunk) = stream.next().await {
            let Ok(bytes) = chunk else { return (frames, true) };
            let mut pieces = Vec::new();
            splitter.push(&bytes, &mut pieces).unwrap();
            for piece in pieces {
                if let Piece::Frame(frame) = piece {
                    frames.push((frame.name, frame.data));
                }
            }
        }
        (frames, false)
    }

    #[tokio::test]
    async fn a_body_is_one_event_however_it_is_cut_and_written() {
        for chunks in [
            vec![Ok(&b"{\"a\":\n  [1]}"[..])],
            vec![Ok(&b"{\"a\":\r"[..]), Ok(&b"\n  [1"[..]), Ok(&b"]}"[..])],
            vec![Ok(&b""[..]), Ok(&b"{\"a\":\n"[..]), Ok(&b"  [1]}"[..])],
        ] {
            let (frames, broke) = read(chunks).await;
            assert_eq!((frames, broke), (vec![(Some("turn".to_owned()), "{\"a\":\n  [1]}".to_owned())], false));
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_no_event() {
        assert_eq!(read(vec![Ok(&b"{\"a\":1}"[..]), Err(())]).await, (Vec::new(), true));
    }

    #[test]
    fn json_is_told_by_its_media_type() {
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/problem+json"] {
            assert!(is_json(Some(json)), "{json}");
        }
        for other in [None, Some("text/plain"), Some("text/event-stream"), Some("text/json+x")] {
            assert!(!is_json(other), "{other:?}");
        }
    }
}
