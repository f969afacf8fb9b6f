use std::time::Duration;

use contract::wire::{Frame, TOO_LARGE_KEPT, TooLarge};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{DEFAULT_EVENT_CAP, Piece, Splitter};

/// All pieces of the stream and how many bytes the end dropped, with the stream given in these chunks.
fn split<'a>(cap: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Piece>, u64) {
    let mut splitter = Splitter::new(cap);
    let mut pieces = Vec::new();
    for chunk in chunks {
        splitter.push(chunk, &mut pieces).unwrap();
    }
    (pieces, splitter.finish())
}

fn whole(stream: &[u8]) -> (Vec<Piece>, u64) {
    split(DEFAULT_EVENT_CAP, [stream])
}

fn message(data: &str) -> Piece {
    Piece::Frame(Frame { data: data.into(), ..Frame::default() })
}

fn event(name: &str, data: &str) -> Piece {
    Piece::Frame(Frame { name: Some(name.into()), data: data.into(), ..Frame::default() })
}

fn with_id(id: &str, data: &str) -> Piece {
    Piece::Frame(Frame { id: Some(id.into()), data: data.into(), ..Frame::default() })
}

fn cursor(id: &str) -> Piece {
    Piece::Cursor(id.into())
}

fn retry(ms: u64) -> Piece {
    Piece::Retry(Duration::from_millis(ms))
}

/// WHATWG HTML 9.2.5 and 9.2.6, rule by rule: (rule, stream, pieces, bytes dropped at the end).
fn rules() -> Vec<(&'static str, &'static [u8], Vec<Piece>, u64)> {
    use Piece::Comment;
    vec![
        ("an empty stream says nothing", b"", vec![], 0),
        ("a leading byte-order mark is dropped", b"\xEF\xBB\xBFdata: a\n\n", vec![message("a")], 0),
        (
            "only one byte-order mark is dropped",
            b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\ndata: b\n\n",
            vec![message("b")],
            0,
        ),
        (
            "a later byte-order mark is text",
            b"data: a\n\n\xEF\xBB\xBFdata: b\n\ndata: c\n\n",
            vec![message("a"), message("c")],
            0,
        ),
        ("a byte-order mark inside data is text", b"data: \xEF\xBB\xBFa\n\n", vec![message("\u{feff}a")], 0),
        ("a stream of a byte-order mark alone says nothing", b"\xEF\xBB\xBF", vec![], 0),
        ("half a byte-order mark is no mark", b"\xEF\xBBdata: a\n\ndata: b\n\n", vec![message("b")], 0),
        ("lines end in LF", b"event: e\ndata: a\n\n", vec![event("e", "a")], 0),
        ("lines end in CRLF", b"event: e\r\ndata: a\r\n\r\n", vec![event("e", "a")], 0),
        ("lines end in CR", b"event: e\rdata: a\r\r", vec![event("e", "a")], 0),
        (
            "line ends may be mixed",
            b"event: e\rdata: a\r\ndata: b\n\r\ndata: c\r\n\n",
            vec![event("e", "a\nb"), message("c")],
            0,
        ),
        ("LF CR is two line ends", b"data: a\n\rdata: b\n\r", vec![message("a"), message("b")], 0),
        ("a CR as the last byte ends the block at once", b"data: a\r\n\r", vec![message("a")], 0),
        ("a comment says nothing but is life", b": hello\n\n", vec![Comment], 0),
        ("a comment may be empty", b":\n\n", vec![Comment], 0),
        ("a comment needs no blank line", b":\n", vec![Comment], 0),
        (
            "a comment inside a block leaves the block alone",
            b"data: a\n: x\ndata: b\n\n",
            vec![Comment, message("a\nb")],
            0,
        ),
        ("a comment that looks like a field is a comment", b":data: a\n\n", vec![Comment], 0),
        (
            "one space after the colon is dropped",
            b"data: a\n\ndata:a\n\ndata:  a\n\n",
            vec![message("a"), message("a"), message(" a")],
            0,
        ),
        ("a tab after the colon is kept", b"data:\ta\n\n", vec![message("\ta")], 0),
        ("a value keeps its colons and its last spaces", b"data: a:b: c \n\n", vec![message("a:b: c ")], 0),
        ("data lines are joined by LF", b"data: YHOO\ndata: +2\ndata: 10\n\n", vec![message("YHOO\n+2\n10")], 0),
        (
            "a data line without colon is an empty line",
            b"data\n\ndata\ndata\n\ndata:\n",
            vec![message(""), message("\n")],
            6,
        ),
        ("an empty data field is an event", b"data:\n\n", vec![message("")], 0),
        ("the last event field wins", b"event: a\nevent: b\ndata: x\n\n", vec![event("b", "x")], 0),
        ("an empty event field takes the name away", b"event: a\nevent:\ndata: x\n\n", vec![message("x")], 0),
        ("an event field without colon takes the name away", b"event: a\nevent\ndata: x\n\n", vec![message("x")], 0),
        ("the name `message` may be said", b"event: message\ndata: x\n\n", vec![event("message", "x")], 0),
        (
            "a name does not reach the next block",
            b"event: a\ndata: x\n\ndata: y\n\n",
            vec![event("a", "x"), message("y")],
            0,
        ),
        ("a block with a name and no data is no event", b"event: a\n\ndata: y\n\n", vec![message("y")], 0),
        ("an event field after the data counts", b"data: x\nevent: a\n\n", vec![event("a", "x")], 0),
        ("an id belongs to its own block", b"id: 1\ndata: a\n\ndata: b\n\n", vec![with_id("1", "a"), message("b")], 0),
        (
            "an empty id resets",
            b"id: 1\ndata: a\n\nid\ndata: b\n\nid:\ndata: c\n\n",
            vec![with_id("1", "a"), with_id("", "b"), with_id("", "c")],
            0,
        ),
        ("the last id wins", b"id: 1\nid: 2\ndata: a\n\n", vec![with_id("2", "a")], 0),
        ("an id with NUL is ignored", b"id: 1\0\ndata: a\n\n", vec![message("a")], 0),
        ("an id with NUL leaves an earlier one", b"id: 1\nid: 2\0\ndata: a\n\n", vec![with_id("1", "a")], 0),
        ("a block with only an id moves the cursor", b"id: 7\n\ndata: a\n\n", vec![cursor("7"), message("a")], 0),
        ("a block with only an empty id resets the cursor", b"id\n\n", vec![cursor("")], 0),
        ("a block with only an id with NUL does nothing", b"id: \0\n\n", vec![], 0),
        ("an id and a name without data move the cursor", b"id: 7\nevent: e\n\n", vec![cursor("7")], 0),
        ("an id is opaque", b"id:  a b:\xE4\xBA\xAC\ndata: x\n\n", vec![with_id(" a b:\u{4eac}", "x")], 0),
        ("retry is milliseconds", b"retry: 3000\n\n", vec![retry(3000)], 0),
        ("retry may stand in a block with data", b"data: a\nretry:10\n\n", vec![retry(10), message("a")], 0),
        (
            "retry is digits only",
            b"retry: +5\n\nretry: -5\n\nretry: 5.0\n\nretry: 5s\n\nretry:  5\n\nretry:\n\nretry\n\n",
            vec![],
            0,
        ),
        ("retry needs no blank line", b"retry: 1\n", vec![retry(1)], 9),
        ("retry never overflows", b"retry: 99999999999999999999999999\n\n", vec![retry(u64::MAX)], 0),
        (
            "unknown fields are ignored",
            b"foo: bar\ndatas: x\ndat: y\ndata: a\nID: 3\nDATA: z\n data: q\n\n",
            vec![message("a")],
            0,
        ),
        ("blank lines alone say nothing", b"\n\n\r\n\r\r", vec![], 0),
        ("a block without its blank line is dropped", b"data: a\n\nid: 2\ndata: b\n", vec![message("a")], 14),
        ("a line without its end is dropped", b"data: a\n\ndata: b", vec![message("a")], 7),
        ("a comment without its end is not missed", b"data: a\n\n: b", vec![message("a")], 0),
        ("NUL in data is text", b"data: a\0b\n\n", vec![message("a\0b")], 0),
    ]
}

#[test]
fn every_rule_of_the_event_stream_format() {
    for (rule, stream, pieces, dropped) in rules() {
        assert_eq!(whole(stream), (pieces, dropped), "{rule}");
    }
}

#[test]
fn every_rule_holds_byte_by_byte_and_cut_anywhere() {
    for (rule, stream, pieces, dropped) in rules() {
        let (mut got, rest) = split(DEFAULT_EVENT_CAP, stream.chunks(1));
        got.dedup_by(|a, b| *a == Piece::Comment && a == b);
        assert_eq!((got, rest), (pieces.clone(), dropped), "{rule}, byte by byte");
        for at in 0..=stream.len() {
            let (a, b) = stream.split_at(at);
            assert_eq!(split(DEFAULT_EVENT_CAP, [a, b]), (pieces.clone(), dropped), "{rule}, cut at {at}");
        }
    }
}

#[test]
fn p_24_utf8_cut_at_every_offset_never_becomes_a_replacement_character() {
    let text = "东京天气：晴 ☀️ 23°C 👩‍💻 — naïve";
    let stream = format!("id: 事件\nevent: 消息\ndata: {text}\ndata: {text}\n\n");
    let expected = Piece::Frame(Frame {
        id: Some("事件".into()),
        name: Some("消息".into()),
        data: format!("{text}\n{text}"),
        ..Frame::default()
    });
    for at in 0..=stream.len() {
        let (a, b) = stream.as_bytes().split_at(at);
        assert_eq!(split(DEFAULT_EVENT_CAP, [a, b]), (vec![expected.clone()], 0), "cut at {at}");
    }
    assert_eq!(split(DEFAULT_EVENT_CAP, stream.as_bytes().chunks(1)), (vec![expected], 0));
}

#[test]
fn p_24_invalid_bytes_are_replaced_and_said() {
    let rows: [&[u8]; 6] = [
        b"data: a\xFFb\n\n",
        b"data: \xE4\xBA\n\n",
        b"data: \xF0\x9F\x98\ndata: x\n\n",
        b"data: \xC0\x80\n\n",
        b"id: \xE4\ndata: x\n\n",
        b"event: \xED\xA0\x80\ndata: x\n\n",
    ];
    for row in rows {
        let text = String::from_utf8_lossy(row).into_owned();
        let Piece::Frame(mut expected) = whole(text.as_bytes()).0.remove(0) else { panic!("no frame") };
        expected.repaired = true;
        for at in 0..=row.len() {
            let (a, b) = row.split_at(at);
            // The sound block after it proves that nothing hangs and that the flag is the block's own.
            let (pieces, _) = split(DEFAULT_EVENT_CAP, [a, b, b"data: sound\n\n"]);
            assert_eq!(pieces, vec![Piece::Frame(expected.clone()), message("sound")], "cut at {at}");
        }
    }
}

#[test]
fn p_24_a_replacement_character_that_was_sent_is_no_repair() {
    assert_eq!(whole("data: \u{FFFD}\n\n".as_bytes()).0, vec![message("\u{FFFD}")]);
}

fn too_large(id: Option<&str>, name: Option<&str>, data: String, bytes: u64) -> Piece {
    Piece::Frame(Frame {
        id: id.map(Into::into),
        name: name.map(Into::into),
        data,
        repaired: false,
        too_large: Some(TooLarge { bytes }),
    })
}

#[test]
fn s_17_an_event_over_the_cap_keeps_name_id_size_and_start_and_the_stream_goes_on() {
    let long = "x".repeat(200_000);
    let block = format!("event: tool\ndata: {long}\nid: 9\n");
    let stream = format!("data: before\n\n{block}\ndata: after\n\n");
    let expected = vec![
        message("before"),
        too_large(Some("9"), Some("tool"), "x".repeat(TOO_LARGE_KEPT), block.len() as u64),
        message("after"),
    ];
    for size in [1, 7, 4096, 99_999, stream.len()] {
        assert_eq!(split(100_000, stream.as_bytes().chunks(size)), (expected.clone(), 0), "chunks of {size}");
    }
}

#[test]
fn s_17_the_cap_itself_is_allowed_and_one_byte_more_is_not() {
    let block = b"event: e\ndata: abc\n";
    let stream = [block.as_slice(), b"\n"].concat();
    assert_eq!(split(block.len(), [stream.as_slice()]).0, vec![event("e", "abc")]);
    let over = too_large(None, Some("e"), "abc".into(), block.len() as u64);
    assert_eq!(split(block.len() - 1, [stream.as_slice()]).0, vec![over]);
}

#[test]
fn s_17_many_short_lines_over_the_cap_are_capped_as_one_event() {
    let block = "data: 0123456789\n".repeat(20_000);
    let stream = format!("{block}\ndata: after\n\n");
    let mut kept = "0123456789\n".repeat(20_000);
    kept.truncate(TOO_LARGE_KEPT);
    let expected = vec![too_large(None, None, kept, block.len() as u64), message("after")];
    for size in [1000, 33_333, stream.len()] {
        assert_eq!(split(100_000, stream.as_bytes().chunks(size)), (expected.clone(), 0), "chunks of {size}");
    }
}

#[test]
fn s_17_the_cut_of_a_large_event_does_not_split_a_character() {
    let stream = format!("data: x{}\n\n", "京".repeat(100_000));
    let (pieces, _) = split(100_000, [stream.as_bytes()]);
    let Some(Piece::Frame(frame)) = pieces.first() else { panic!("no frame") };
    assert_eq!(frame.data, format!("x{}", "京".repeat((TOO_LARGE_KEPT - 1) / 3)));
    assert!(!frame.repaired);
}

#[test]
fn s_17_an_endless_line_is_counted_and_not_kept() {
    let mut splitter = Splitter::new(1_000_000);
    let mut pieces = Vec::new();
    splitter.push(b"id: 5\ndata: ", &mut pieces).unwrap();
    let chunk = vec![b'x'; 1_000_000];
    for _ in 0..50 {
        splitter.push(&chunk, &mut pieces).unwrap();
        let held = splitter.arena.capacity() + splitter.oversize.as_ref().map_or(0, |_| TOO_LARGE_KEPT);
        assert!(held < 4_000_000, "holds {held} bytes");
    }
    assert_eq!(pieces, vec![]);
    splitter.push(b"\n\n", &mut pieces).unwrap();
    assert_eq!(pieces, vec![too_large(Some("5"), None, "x".repeat(TOO_LARGE_KEPT), 50_000_013)]);
}

#[test]
fn s_17_a_name_or_id_too_long_to_keep_is_no_name_and_no_id() {
    let stream = format!("id: 1\nid: {0}\nevent: {0}\ndata: a\n\n", "x".repeat(200_000));
    let bytes = stream.len() as u64 - 1;
    assert_eq!(split(100_000, [stream.as_bytes()]).0, vec![too_large(Some("1"), None, "a".into(), bytes)]);
}

#[test]
fn s_17_an_id_with_nul_never_becomes_the_cursor_in_a_large_event() {
    let stream = format!("id: a\0b\ndata: {}\n\n", "x".repeat(200_000));
    let bytes = stream.len() as u64 - 1;
    let expected = too_large(None, None, "x".repeat(TOO_LARGE_KEPT), bytes);
    assert_eq!(split(100_000, [stream.as_bytes()]).0, vec![expected]);
}

#[test]
fn s_17_a_large_block_without_data_is_no_event_but_moves_the_cursor() {
    let stream = format!("id: 3\nretry: 8\nfoo: {}\n: beat\n\ndata: a\n\n", "x".repeat(200_000));
    let expected = vec![retry(8), Piece::Comment, cursor("3"), message("a")];
    for size in [1, 1000, stream.len()] {
        assert_eq!(split(100_000, stream.as_bytes().chunks(size)).0, expected, "chunks of {size}");
    }
}

#[test]
fn s_17_comments_without_end_cost_no_memory_and_do_not_count() {
    let mut splitter = Splitter::new(1000);
    let mut pieces = Vec::new();
    splitter.push(b"data: a\n", &mut pieces).unwrap();
    for _ in 0..10_000 {
        splitter.push(b": beat\n: ", &mut pieces).unwrap();
        splitter.push(&[b'x'; 500], &mut pieces).unwrap();
        splitter.push(b"\n", &mut pieces).unwrap();
    }
    assert!(splitter.arena.capacity() < 10_000);
    pieces.clear();
    splitter.push(b"\n", &mut pieces).unwrap();
    assert_eq!(pieces, vec![message("a")]);
}

#[test]
fn s_17_a_large_event_cut_off_by_the_end_is_dropped_whole() {
    let stream = format!("data: {}", "x".repeat(200_000));
    assert_eq!(split(100_000, [stream.as_bytes()]), (vec![], 200_006));
}

/// The standard as plainly as it can be said, over the whole input at once: what the splitter must equal.
fn naive(stream: &[u8], cap: usize) -> (Vec<Piece>, u64) {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut previous = 0;
    for &byte in stream {
        match byte {
            b'\n' if previous == b'\r' => {}
            b'\r' | b'\n' => lines.push(Vec::new()),
            _ => lines.last_mut().unwrap().push(byte),
        }
        previous = byte;
    }
    let unfinished = lines.pop().unwrap();
    let (mut pieces, mut block, mut size) = (Vec::new(), Frame::default(), 0);
    let mut data: Option<String> = None;
    // What of a large event is kept and was not UTF-8: the name, the id, the data.
    let mut kept = [false; 3];
    for raw in lines {
        let line = String::from_utf8_lossy(&raw).into_owned();
        if line.is_empty() {
            let id = block.id.clone();
            if let Some(text) = data.take() {
                block.data = text;
                if size > cap {
                    block.data.truncate(block.data.floor_char_boundary(TOO_LARGE_KEPT));
                    block.too_large = Some(TooLarge { bytes: size as u64 });
                    block.repaired = kept.contains(&true);
                }
                pieces.push(Piece::Frame(block));
            } else {
                pieces.extend(id.map(Piece::Cursor));
            }
            (block, size, kept) = (Frame::default(), 0, [false; 3]);
            continue;
        }
        if line.starts_with(':') {
            continue;
        }
        size += raw.len() + 1;
        let bad = str::from_utf8(&raw).is_err();
        block.repaired |= bad;
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                kept[2] |= bad;
                match &mut data {
                    None => data = Some(value.to_owned()),
                    Some(text) => {
                        text.push('\n');
                        text.push_str(value);
                    }
                }
            }
            "event" => {
                kept[0] = bad;
                block.name = Some(value.to_owned()).filter(|name| !name.is_empty());
            }
            "id" if !value.contains('\0') => {
                kept[1] = bad;
                block.id = Some(value.to_owned());
            }
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                pieces.push(Piece::Retry(Duration::from_millis(value.parse().unwrap_or(u64::MAX))));
            }
            _ => {}
        }
    }
    let rest = if unfinished.first() == Some(&b':') { 0 } else { unfinished.len() };
    (pieces, (size + rest) as u64)
}

/// Streams built of what matters to the format, with plain noise in between.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => prop::sample::select(vec![&b"\n"[..], b"\r", b"\r\n", b"\n\n", b"\r\n\r\n"]).prop_map(<[u8]>::to_vec),
        4 => prop::sample::select(vec![
            &b"data: "[..], b"data:", b"data", b"event: ", b"event", b"id: ", b"id:", b"id", b"retry: ", b"retry:12",
            b":", b": ", b" ", b"\xEF\xBB\xBF", b"\0", b"+", b"foo: ", b"message",
        ]).prop_map(<[u8]>::to_vec),
        2 => "[a-z0-9 :]{0,12}".prop_map(String::into_bytes),
        1 => "[京東👩é]{1,4}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 1..5),
        1 => (100usize..3000).prop_map(|length| vec![b'y'; length]),
    ];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

/// Cuts a stream at places chosen by the seeds.
fn cut<'a>(stream: &'a [u8], seeds: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = seeds.iter().map(|seed| seed % (stream.len() + 1)).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect()
}

fn without_comments((mut pieces, dropped): (Vec<Piece>, u64)) -> (Vec<Piece>, u64) {
    pieces.retain(|piece| *piece != Piece::Comment);
    (pieces, dropped)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_what_a_naive_parser_reads_from_the_whole(
        stream in streams(),
        seeds in prop::collection::vec(any::<usize>(), 0..20),
        cap in prop_oneof![Just(DEFAULT_EVENT_CAP), Just(20usize), Just(500usize)],
    ) {
        let expected = naive(&stream, cap);
        prop_assert_eq!(without_comments(split(cap, [stream.as_slice()])), expected.clone());
        prop_assert_eq!(without_comments(split(cap, cut(&stream, &seeds))), expected.clone());
        prop_assert_eq!(without_comments(split(cap, stream.chunks(1))), expected);
    }

    #[test]
    fn p_24_text_in_any_chunks_arrives_as_it_was_sent(
        text in "[^\r\n]{0,80}",
        seeds in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let stream = format!("data: {text}\n\n");
        let (pieces, _) = split(DEFAULT_EVENT_CAP, cut(stream.as_bytes(), &seeds));
        prop_assert_eq!(pieces, vec![message(&text)]);
    }
}
