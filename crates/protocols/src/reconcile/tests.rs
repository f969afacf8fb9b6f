//! Rules one by one, then histories and what is known of them at random.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{text::bare, *};

fn user(text: &str) -> Piece {
    Piece::User(text.to_owned())
}

fn agent(text: &str) -> Piece {
    Piece::Agent(text.to_owned())
}

fn call(id: &str, command: &str) -> Piece {
    let arguments = format!(r#"{{"command":"{command}"}}"#);
    Piece::Call { call: id.to_owned(), name: "bash".to_owned(), arguments, output: None }
}

fn summary(text: &str) -> Piece {
    Piece::Summary(text.to_owned())
}

fn known(pieces: &[(Piece, bool)]) -> Vec<Known> {
    pieces
        .iter()
        .enumerate()
        .map(|(at, (piece, is_whole))| Known {
            id: format!("k{at}"),
            turn: None,
            piece: piece.clone(),
            is_whole: *is_whole,
        })
        .collect()
}

fn whole(pieces: &[Piece]) -> Vec<Known> {
    known(&pieces.iter().map(|piece| (piece.clone(), true)).collect::<Vec<_>>())
}

fn same(known: usize, past: usize) -> Placed {
    Placed::Known { known, past, text: None }
}

fn mended(known: usize, past: usize, text: &str) -> Placed {
    Placed::Known { known, past, text: Some(text.to_owned()) }
}

fn new(past: usize) -> Placed {
    Placed::New { past }
}

#[test]
fn what_is_missing_in_the_middle_is_put_there() {
    let past = [user("a"), agent("b"), call("c", "ls"), agent("d")];
    let known = whole(&[user("a"), agent("d")]);
    assert_eq!(reconcile(&known, &past), [same(0, 0), new(1), new(2), same(1, 3)]);
}

#[test]
fn texts_that_repeat_match_one_to_one() {
    let past = [user("go"), agent("ok"), user("go"), agent("ok"), user("go"), agent("ok")];
    let seen = whole(&past[..4]);
    assert_eq!(reconcile(&seen, &past), [same(0, 0), same(1, 1), same(2, 2), same(3, 3), new(4), new(5)]);
}

#[test]
fn a_text_that_was_cut_off_is_made_whole() {
    let past = [user("a"), agent("I will do it"), agent("Done")];
    let cut = known(&[(user("a"), true), (agent("I will "), false)]);
    assert_eq!(reconcile(&cut, &past), [same(0, 0), mended(1, 1, "I will do it"), new(2)]);
    // All of it had come, and we did not know.
    let cut = known(&[(user("a"), true), (agent("I will do it"), false)]);
    assert_eq!(reconcile(&cut, &past), [same(0, 0), mended(1, 1, "I will do it"), new(2)]);
    // The server kept less than it had told.
    let cut = known(&[(user("a"), true), (agent("I will do it, and more"), false)]);
    assert_eq!(reconcile(&cut, &past), [same(0, 0), same(1, 1), new(2)]);
}

#[test]
fn a_run_that_was_taken_up_does_not_repeat_its_beginning() {
    let ours = known(&[(user("a"), true), (agent("I will"), false), (agent("I will do it"), true)]);
    // The cut text was not kept by the server.
    assert_eq!(reconcile(&ours, &[user("a"), agent("I will do it")]), [same(0, 0), same(2, 1)]);
    // It was.
    let kept = [user("a"), agent("I will"), agent("I will do it")];
    assert_eq!(reconcile(&ours, &kept), [same(0, 0), mended(1, 1, "I will"), same(2, 2)]);
}

#[test]
fn one_text_of_ours_may_be_several_of_theirs() {
    let past = [user("a"), agent("One."), agent("Two."), user("b")];
    assert_eq!(
        reconcile(&whole(&[user("a"), agent("One.Two."), user("b")]), &past),
        [same(0, 0), same(1, 1), same(2, 3)]
    );
    let cut = known(&[(user("a"), true), (agent("One.T"), false)]);
    assert_eq!(reconcile(&cut, &past), [same(0, 0), mended(1, 1, "One.Two."), new(3)]);
}

#[test]
fn white_space_does_not_count() {
    let ours = known(&[(agent("I will use a tool. "), true), (agent("Now\n"), false)]);
    let past = [agent("I will use a tool."), call("c", "ls"), agent("Now then")];
    assert_eq!(reconcile(&ours, &past), [same(0, 0), new(1), mended(1, 2, "Now then")]);
}

#[test]
fn calls_match_by_id_then_by_what_they_would_run() {
    let ours = whole(&[call("a", "ls"), call("b", "pwd"), call("c", "id")]);
    let past = [call("a", "ls"), call("other", "pwd"), call("c", "date")];
    assert_eq!(reconcile(&ours, &past), [same(0, 0), same(1, 1), same(2, 2)]);
    // The same words in another form.
    let spaced = Piece::Call {
        call: "b".to_owned(),
        name: "bash".to_owned(),
        arguments: r#"{ "command" : "pwd" }"#.to_owned(),
        output: None,
    };
    assert_eq!(reconcile(&ours[1..2], &[call("a", "ls"), spaced]), [new(0), same(0, 1)]);
}

#[test]
fn of_calls_that_are_alike_the_one_with_our_output_is_ours() {
    let answered = |text: &str| match call("a", "date") {
        Piece::Call { call, name, arguments, .. } => {
            Piece::Call { call, name, arguments, output: Some(text.to_owned()) }
        }
        other => other,
    };
    let ours = whole(&[answered("Tuesday")]);
    assert_eq!(reconcile(&ours, &[answered("Monday"), answered("Tuesday")]), [new(0), same(0, 1)]);
    assert_eq!(reconcile(&ours, &[answered("Tues")]), [same(0, 0)], "a server may shorten it");
}

#[test]
fn mentions_may_be_written_out() {
    let ours = whole(&[user("read @a.md please"), agent("ok")]);
    let past = [user("read the file /srv/a.md please"), agent("ok")];
    assert_eq!(reconcile(&ours, &past), [same(0, 0), same(1, 1)]);
    assert_eq!(reconcile(&ours, &[user("read @a.md please\n[a.md: …]")]), [same(0, 0)]);
    assert_eq!(reconcile(&whole(&[user("x")]), &[user("y")]), [new(0)]);
}

#[test]
fn a_mention_that_was_placed_by_guess_moves_to_its_very_text() {
    let ours = whole(&[user("look at @a")]);
    assert_eq!(reconcile(&ours, &[user("go")]), [same(0, 0)]);
    assert_eq!(reconcile(&ours, &[user("go"), user("look at @a")]), [new(0), same(0, 1)]);
}

#[test]
fn a_summary_goes_where_the_history_has_it() {
    let ours = known(&[(user("a"), true), (agent("b"), true), (summary("we did"), true), (summary(""), false)]);
    let past = [user("a"), summary("we did"), summary("and more"), agent("b"), summary("third")];
    assert_eq!(reconcile(&ours, &past), [same(0, 0), same(2, 1), mended(3, 2, "and more"), same(1, 3), new(4)]);
}

#[test]
fn what_only_we_know_is_not_asked_of_the_history() {
    let ours = whole(&[user("failed"), user("a"), agent("b")]);
    assert_eq!(reconcile(&ours, &[user("a"), agent("b")]), [same(1, 0), same(2, 1)]);
}

#[test]
fn long_ones_that_share_little_are_merged_in_good_time() {
    let past: Vec<Piece> = (0..3_000).map(|n| user(&format!("theirs {n}"))).collect();
    let mut ours: Vec<Piece> = (0..3_000).map(|n| user(&format!("ours {n}"))).collect();
    ours.insert(1_500, past[1_000].clone());
    let placed = reconcile(&whole(&ours), &past);
    assert_eq!(placed.len(), 3_000);
    assert_eq!(placed[1_000], same(1_500, 1_000));
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        3 => prop::sample::select(vec!["go", "go on", "look at @a"]).prop_map(user),
        4 => prop::sample::select(vec!["I will", "I will do it.", "Done.", "Do", "Done. Do"]).prop_map(agent),
        3 => (prop::sample::select(vec!["c0", "c1"]), prop::sample::select(vec!["ls", "pwd"]))
            .prop_map(|(id, command)| call(id, command)),
        1 => prop::sample::select(vec!["we did", "all of it"]).prop_map(summary),
        1 => Just(Piece::Other("{}".to_owned())),
    ]
}

/// A history, which of it is known (some texts cut off), and things only we know, each before one of it.
fn scene() -> impl Strategy<Value = (Vec<Piece>, Vec<(Piece, bool)>)> {
    prop::collection::vec((piece(), 0..4_u8, prop::option::weighted(0.1, piece())), 0..14).prop_map(|rows| {
        let mut past = Vec::new();
        let mut ours = Vec::new();
        for (piece, keep, extra) in rows {
            ours.extend(extra.map(|piece| (piece, true)));
            match (&piece, keep) {
                (_, 0) => {}
                (Piece::Agent(text), 1) => ours.push((agent(&text[..text.len() / 2]), false)),
                _ => ours.push((piece.clone(), true)),
            }
            past.push(piece);
        }
        (past, ours)
    })
}

/// What is shown after a merge, in the order of the history, as the codec would do it.
fn merged(known: &[Known], past: &[Piece], inserted: &mut usize) -> Vec<Known> {
    reconcile(known, past)
        .into_iter()
        .map(|placed| match placed {
            Placed::Known { known: at, text, .. } => {
                let mut known = known[at].clone();
                if let Some(text) = text {
                    known.is_whole = true;
                    known.piece = match known.piece {
                        Piece::Summary(_) => Piece::Summary(text),
                        _ => Piece::Agent(text),
                    };
                }
                known
            }
            Placed::New { past: at } => {
                *inserted += 1;
                Known { id: format!("h{inserted}"), turn: None, piece: past[at].clone(), is_whole: true }
            }
        })
        .collect()
}

/// What a person reads: neighbouring texts of the agent as one, without white space. Summaries may stand inside one.
fn read(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (piece, all.last_mut()) {
            (Piece::Summary(_), _) => {}
            (Piece::Agent(text), Some(Piece::Agent(known))) => known.push_str(&bare(&text)),
            (Piece::Agent(text), _) => all.push(agent(&bare(&text))),
            (piece, _) => all.push(piece),
        }
    }
    all
}

/// Whether `known` says at least what the history does, and of the same kind: `@` and cut texts are the exceptions.
fn is_like(known: &Piece, past: &Piece) -> bool {
    match (known, past) {
        (Piece::User(known), Piece::User(past)) => {
            known == past || bare(past).contains(&bare(known)) || known.contains('@')
        }
        (Piece::Call { call: a, name: b, arguments: c, .. }, Piece::Call { call: x, name: y, arguments: z, .. }) => {
            b == y && (a == x || c == z)
        }
        (known, past) => known == past,
    }
}

/// Paired only because a mention may be written out.
fn is_a_guess(known: &Piece, past: &Piece) -> bool {
    matches!((known, past), (Piece::User(known), Piece::User(past)) if !bare(past).contains(&bare(known)))
}

proptest! {
    #[test]
    fn what_is_known_of_a_history_becomes_the_whole_of_it((past, ours) in scene()) {
        let ours = known(&ours);
        let mut inserted = 0;
        let shown = merged(&ours, &past, &mut inserted);
        let ids: Vec<&String> = shown.iter().map(|known| &known.id).collect();
        let mut unique = ids.clone();
        unique.sort();
        unique.dedup();
        prop_assert_eq!(unique.len(), ids.len(), "nothing is placed twice");
        let summaries = |pieces: &mut dyn Iterator<Item = Piece>| -> Vec<Piece> {
            pieces.filter(|piece| matches!(piece, Piece::Summary(_))).collect()
        };
        prop_assert_eq!(
            summaries(&mut shown.iter().map(|known| known.piece.clone())),
            summaries(&mut past.iter().cloned())
        );
        // A text that the server cut shorter than ours stays ours: there, only the rest is compared.
        if shown.iter().all(|known| known.is_whole) {
            let (shown, past) = (
                read(shown.iter().map(|known| known.piece.clone())),
                read(past.clone()),
            );
            prop_assert_eq!(shown.len(), past.len());
            for (shown, past) in shown.iter().zip(&past) {
                prop_assert!(is_like(shown, past), "{:?} for {:?}", shown, past);
            }
        }
        prop_assert_eq!(&merged(&ours, &past, &mut 0), &shown, "the same again gives the same");
    }

    #[test]
    fn a_merge_that_was_made_changes_nothing_when_made_again((past, ours) in scene(), more in prop::collection::vec(piece(), 0..4)) {
        let mut inserted = 0;
        let shown = merged(&known(&ours), &past, &mut inserted);
        let before = inserted;
        let again = merged(&shown, &past, &mut inserted);
        prop_assert_eq!(inserted, before, "nothing is missing any more");
        prop_assert_eq!(&again, &shown);
        // A text with a mention that stands where the history says something else was placed by guess: a longer history
        // may place it better.
        prop_assume!(!reconcile(&shown, &past).iter().any(|placed| match placed {
            Placed::Known { known, past: at, .. } => is_a_guess(&shown[*known].piece, &past[*at]),
            Placed::New { .. } => false,
        }));
        let longer: Vec<Piece> = past.iter().cloned().chain(more.clone()).collect();
        let grown = merged(&again, &longer, &mut inserted);
        prop_assert_eq!(inserted - before, more.len());
        prop_assert_eq!(&grown[..shown.len()], &shown[..]);
    }

    #[test]
    fn ours_keep_their_order((past, ours) in scene()) {
        let ours = known(&ours);
        let order: Vec<usize> = reconcile(&ours, &past)
            .into_iter()
            .filter_map(|placed| match placed {
                Placed::Known { known, .. } if !matches!(ours[known].piece, Piece::Summary(_)) => Some(known),
                _ => None,
            })
            .collect();
        prop_assert!(order.is_sorted());
    }
}
