use std::time::{Duration, UNIX_EPOCH};

use contract::{
    connection::{ConnectionCause as Cause, ConnectionLogKind as Log, ConnectionState as State},
    probe::ProbeLayer,
};
use http::HeaderMap;
use pretty_assertions::assert_eq;

use super::*;

const START_WALL: Millis = 1_800_000_000_000;

/// A machine with a clock of its own.
struct Link {
    machine: Reconnect,
    at: Duration,
    chance: f64,
}

impl Link {
    fn new(reattach: bool) -> Self {
        Self { machine: Reconnect::new(reattach), at: Duration::from_secs(100), chance: 1.0 }
    }

    fn open() -> Self {
        Self::opened(true)
    }

    fn opened(reattach: bool) -> Self {
        let mut link = Self::new(reattach);
        link.feed(Input::Start);
        link.feed(Input::Opened);
        link
    }

    fn now(&self) -> Moment {
        Moment { mono: self.at, wall: START_WALL + Millis::try_from(self.at.as_millis()).unwrap() }
    }

    fn after(&mut self, seconds: f64) -> &mut Self {
        self.at += Duration::from_secs_f64(seconds);
        self
    }

    fn feed(&mut self, input: Input) -> Step {
        self.machine.step(self.now(), input, self.chance)
    }

    /// Feeds an input that must lead to a wait, and gives back how long it is.
    fn wait(&mut self, input: Input) -> Duration {
        match self.feed(input).order {
            Order::WaitUntil(until) => until - self.at,
            other => panic!("no wait but {other:?}"),
        }
    }

    fn wall_after(&self, seconds: f64) -> Millis {
        super::wall_after(self.now(), Duration::from_secs_f64(seconds))
    }
}

fn broken() -> Input {
    Input::Broken { detail: "reset".into() }
}

fn status(status: u16) -> Input {
    Input::Refused { status, retry_after: None, message: "server words".into() }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn connecting(attempt: u32) -> Step {
    Step {
        order: Order::Open,
        state: Some(State::Connecting { attempt }),
        log: vec![(Log::Connecting { attempt }, None)],
    }
}

#[test]
fn start_opens() {
    assert_eq!(Link::new(true).feed(Input::Start), connecting(0));
}

#[test]
fn opened_is_live() {
    let mut link = Link::new(true);
    link.feed(Input::Start);
    let since = link.now().wall;
    let expected = Step { order: Order::Keep, state: Some(State::Live { since }), log: vec![(Log::Connected, None)] };
    assert_eq!(link.feed(Input::Opened), expected);
}

#[test]
fn bytes_change_nothing() {
    assert_eq!(Link::open().feed(Input::Bytes), keep());
}

#[test]
fn a_break_waits_and_says_why_and_until_when() {
    let mut link = Link::open();
    let cause = Cause::Broken;
    let retry_at = link.wall_after(0.5);
    let expected = Step {
        order: Order::WaitUntil(link.at + seconds(0.5)),
        state: Some(State::Waiting { attempt: 1, retry_at, cause, detail: "reset".into() }),
        log: vec![(Log::Dropped { cause }, Some("reset".into())), (Log::WaitingUntil { retry_at }, None)],
    };
    assert_eq!(link.feed(broken()), expected);
    assert_eq!(link.after(0.5).feed(Input::Due), connecting(1));
}

#[test]
fn every_failure_to_connect_waits_with_its_cause() {
    let layer = ProbeLayer::Dns;
    let rows = [
        (Input::Unreachable { layer, detail: "d".into() }, Cause::Unreachable { layer }, "d"),
        (Input::NotAStream { detail: "text/html".into() }, Cause::NotAStream, "text/html"),
        (status(500), Cause::Status { status: 500 }, "server words"),
        (status(429), Cause::Status { status: 429 }, "server words"),
        (status(400), Cause::Status { status: 400 }, "server words"),
        (broken(), Cause::Broken, "reset"),
        (Input::Closed, Cause::Closed, ""),
    ];
    for (input, cause, detail) in rows {
        let mut link = Link::new(true);
        link.feed(Input::Start);
        let retry_at = link.wall_after(0.5);
        let state = State::Waiting { attempt: 1, retry_at, cause, detail: detail.into() };
        let step = link.feed(input);
        assert_eq!((step.order, step.state), (Order::WaitUntil(link.at + seconds(0.5)), Some(state)));
        assert_eq!(step.log[0].0, Log::Dropped { cause });
    }
}

#[test]
fn waits_double_from_half_a_second_to_thirty_seconds() {
    let mut link = Link::open();
    for expected in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0] {
        assert_eq!(link.wait(broken()), seconds(expected));
        link.feed(Input::Due);
    }
}

#[test]
fn hundreds_of_failures_still_wait_thirty_seconds() {
    let mut link = Link::open();
    for _ in 0..500 {
        link.feed(broken());
        link.feed(Input::Due);
    }
    assert_eq!(link.wait(broken()), seconds(30.0));
}

#[test]
fn jitter_stays_between_half_and_all() {
    for (chance, expected) in [(0.0, 0.25), (0.5, 0.375), (1.0, 0.5), (-3.0, 0.25), (7.0, 0.5), (f64::NAN, 0.5)] {
        let mut link = Link::open();
        link.chance = chance;
        assert_eq!(link.wait(broken()), seconds(expected), "chance {chance}");
    }
}

#[test]
fn failures_are_forgotten_after_a_stable_minute_and_not_before() {
    for (life, expected) in [(59.9, 4.0), (60.0, 0.5)] {
        let mut link = Link::open();
        for _ in 0..3 {
            link.feed(broken());
            link.feed(Input::Due);
        }
        link.feed(Input::Opened);
        assert_eq!(link.after(life).wait(broken()), seconds(expected), "life {life}");
    }
}

#[test]
fn the_servers_retry_is_where_doubling_starts_and_never_undercut() {
    let mut link = Link::open();
    link.chance = 0.0;
    assert_eq!(link.feed(Input::Retry(seconds(3.0))), keep());
    assert_eq!(link.wait(broken()), seconds(3.0));
    link.feed(Input::Due);
    link.chance = 1.0;
    assert_eq!(link.wait(broken()), seconds(6.0));
}

#[test]
fn the_servers_retry_has_a_floor_and_a_ceiling() {
    for (asked, expected) in [(0.0, 0.5), (0.001, 0.5), (45.0, 45.0), (1e9, 300.0)] {
        let mut link = Link::open();
        link.feed(Input::Retry(seconds(asked)));
        assert_eq!(link.wait(broken()), seconds(expected), "retry {asked}");
    }
}

fn headers(rows: &[(&'static str, &str)]) -> HeaderMap {
    rows.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

#[test]
fn retry_after_is_read_in_both_forms() {
    let date = UNIX_EPOCH + Duration::from_secs(1_445_412_480);
    let rows = [
        (headers(&[("retry-after", "120")]), Some(RetryAfter::Delay(seconds(120.0)))),
        (headers(&[("retry-after", " 0 ")]), Some(RetryAfter::Delay(Duration::ZERO))),
        (headers(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(RetryAfter::At(date))),
        (headers(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(RetryAfter::Delay(seconds(1.5)))),
        (headers(&[("retry-after-ms", "x"), ("retry-after", "9")]), Some(RetryAfter::Delay(seconds(9.0)))),
        (headers(&[("retry-after", "-1")]), None),
        (headers(&[("retry-after", "+1")]), None),
        (headers(&[("retry-after", "1.5")]), None),
        (headers(&[("retry-after", "soon")]), None),
        (headers(&[]), None),
    ];
    for (headers, expected) in rows {
        assert_eq!(RetryAfter::from_headers(&headers), expected, "{headers:?}");
    }
}

#[test]
fn retry_after_is_waited_for_in_both_forms() {
    let at = |link: &Link, seconds: u64| {
        let wall = Duration::from_millis(u64::try_from(link.now().wall).unwrap());
        RetryAfter::At(UNIX_EPOCH + wall + Duration::from_secs(seconds))
    };
    let mut link = Link::new(true);
    link.feed(Input::Start);
    let rows = [
        (RetryAfter::Delay(seconds(42.0)), 42.0),
        (at(&link, 42), 42.0),
        // Less than our own wait, or past: our own wait.
        (RetryAfter::Delay(Duration::ZERO), 2.0),
        (RetryAfter::At(UNIX_EPOCH), 4.0),
        (RetryAfter::Delay(Duration::from_secs(u64::MAX)), 3600.0),
    ];
    for (after, expected) in rows {
        let input = Input::Refused { status: 429, retry_after: Some(after), message: String::new() };
        assert_eq!(link.wait(input), seconds(expected), "{after:?}");
        link.feed(Input::Due);
    }
}

#[test]
fn a_clean_close_while_idle_reconnects_quietly() {
    let mut link = Link::open();
    link.after(6.0);
    let retry_at = link.wall_after(0.5);
    let expected = Step {
        order: Order::WaitUntil(link.at + seconds(0.5)),
        state: Some(State::Connecting { attempt: 0 }),
        log: vec![(Log::Dropped { cause: Cause::Closed }, None), (Log::WaitingUntil { retry_at }, None)],
    };
    assert_eq!(link.feed(Input::Closed), expected);
    assert_eq!(link.after(0.5).feed(Input::Due), connecting(0));
}

#[test]
fn a_clean_close_while_a_turn_runs_is_a_drop() {
    let mut link = Link::open();
    link.feed(Input::Running(true));
    link.after(6.0);
    let step = link.feed(Input::Closed);
    assert!(matches!(step.state, Some(State::Waiting { attempt: 1, cause: Cause::Closed, .. })), "{step:?}");
}

#[test]
fn a_server_that_closes_at_once_again_and_again_is_not_hammered() {
    let mut link = Link::open();
    let mut waits = Vec::new();
    for _ in 0..4 {
        waits.push(link.after(1.0).wait(Input::Closed));
        link.feed(Input::Due);
        link.feed(Input::Opened);
    }
    assert_eq!(waits, [0.5, 1.0, 2.0, 4.0].map(seconds));
}

#[test]
fn a_terminal_event_ends_it_for_good_in_every_phase() {
    let phases: [&[Input]; 7] = [
        &[],
        &[Input::Start],
        &[Input::Start, Input::Opened],
        &[Input::Start, broken()],
        &[Input::Start, status(401)],
        &[Input::Start, Input::Pause],
        &[Input::Start, status(404)],
    ];
    for inputs in phases {
        let mut link = Link::new(true);
        for input in inputs {
            link.feed(input.clone());
        }
        let expected =
            Step { order: Order::Stop(Stop::Ended), state: Some(State::Ended), log: vec![(Log::Ended, None)] };
        assert_eq!(link.feed(Input::Terminal), expected, "{inputs:?}");
        for input in [Input::RetryNow, Input::Wake, Input::NewToken, Input::Resume, Input::Start, Input::Due, broken()]
        {
            assert_eq!(link.feed(input), keep(), "{inputs:?}");
        }
    }
}

#[test]
fn no_content_is_the_end_as_the_standard_says() {
    let mut link = Link::new(true);
    link.feed(Input::Start);
    assert_eq!(link.feed(status(204)).order, Order::Stop(Stop::Ended));
}

#[test]
fn unauthorized_waits_for_a_token() {
    let mut link = Link::new(true);
    link.feed(Input::Start);
    let expected = Step {
        order: Order::Hold,
        state: Some(State::Unauthorized),
        log: vec![(Log::Dropped { cause: Cause::Status { status: 401 } }, Some("server words".into()))],
    };
    assert_eq!(link.feed(status(401)), expected);
    for input in [Input::Wake, Input::Due, Input::Silent, Input::Bytes] {
        assert_eq!(link.feed(input), keep());
    }
    assert_eq!(link.feed(Input::NewToken), connecting(0));
}

#[test]
fn forbidden_waits_with_the_servers_words() {
    let mut link = Link::new(true);
    link.feed(Input::Start);
    let step = link.feed(status(403));
    assert_eq!((step.order, step.state), (Order::Hold, Some(State::Forbidden { message: "server words".into() })));
    assert_eq!(link.feed(Input::Wake), keep());
    assert_eq!(link.feed(Input::RetryNow), connecting(0));
}

#[test]
fn not_found_is_gone() {
    for code in [404, 410] {
        let mut link = Link::new(true);
        link.feed(Input::Start);
        let step = link.feed(status(code));
        assert_eq!((step.order, step.state), (Order::Hold, Some(State::Gone)));
        assert_eq!(link.feed(Input::RetryNow), connecting(0));
    }
}

#[test]
fn silence_wake_and_retry_now_cut_a_stream_that_can_be_taken_up_again() {
    for (input, cause) in
        [(Input::Silent, Cause::Silent), (Input::Wake, Cause::Wake), (Input::RetryNow, Cause::RetryNow)]
    {
        let mut link = Link::open();
        let mut expected = connecting(0);
        expected.log.insert(0, (Log::Dropped { cause }, None));
        assert_eq!(link.feed(input), expected);
    }
}

#[test]
fn a_stream_that_cannot_be_taken_up_again_is_never_cut() {
    for input in [Input::Silent, Input::Wake, Input::RetryNow, Input::Pause, Input::Resume, Input::NewToken, Input::Due]
    {
        assert_eq!(Link::opened(false).feed(input.clone()), keep(), "live, {input:?}");
        let mut link = Link::new(false);
        link.feed(Input::Start);
        assert_eq!(link.feed(input.clone()), keep(), "connecting, {input:?}");
    }
}

#[test]
fn a_stream_that_cannot_be_taken_up_again_is_never_opened_twice() {
    let layer = ProbeLayer::Connect;
    let rows = [
        (broken(), Cause::Broken, State::Closed),
        (Input::Closed, Cause::Closed, State::Closed),
        (Input::Unreachable { layer, detail: String::new() }, Cause::Unreachable { layer }, State::Closed),
        (Input::NotAStream { detail: String::new() }, Cause::NotAStream, State::Closed),
        (status(503), Cause::Status { status: 503 }, State::Closed),
        (status(401), Cause::Status { status: 401 }, State::Unauthorized),
        (status(404), Cause::Status { status: 404 }, State::Gone),
    ];
    for (input, cause, state) in rows {
        let mut link = Link::new(false);
        link.feed(Input::Start);
        let step = link.feed(input);
        assert_eq!((step.order, step.state), (Order::Stop(Stop::NotReattachable(cause)), Some(state)));
        for input in [Input::RetryNow, Input::Wake, Input::NewToken, Input::Due] {
            assert_eq!(link.feed(input), keep());
        }
    }
    let mut link = Link::opened(false);
    link.after(600.0);
    assert_eq!(link.feed(Input::Closed).order, Order::Stop(Stop::NotReattachable(Cause::Closed)));
}

#[test]
fn wake_and_retry_now_and_a_new_token_end_a_wait_at_once() {
    for input in [Input::Wake, Input::RetryNow, Input::NewToken] {
        let mut link = Link::open();
        link.feed(broken());
        assert_eq!(link.feed(input), connecting(1));
    }
}

#[test]
fn pause_drops_and_resume_opens() {
    let phases: [&[Input]; 4] =
        [&[Input::Start], &[Input::Start, Input::Opened], &[Input::Start, broken()], &[Input::Start, status(401)]];
    for inputs in phases {
        let mut link = Link::new(true);
        for input in inputs {
            link.feed(input.clone());
        }
        let step = link.feed(Input::Pause);
        assert_eq!((step.order, step.state), (Order::Hold, Some(State::Paused)), "{inputs:?}");
        for input in [Input::RetryNow, Input::Wake, Input::NewToken, Input::Due] {
            assert_eq!(link.feed(input), keep());
        }
        assert_eq!(link.feed(Input::Resume).order, Order::Open);
    }
}

#[test]
fn closing_here_stops_and_is_logged() {
    let expected =
        Step { order: Order::Stop(Stop::ClosedHere), state: Some(State::Closed), log: vec![(Log::ClosedHere, None)] };
    assert_eq!(Link::open().feed(Input::CloseHere), expected);
}

#[test]
fn a_wait_that_is_over_means_nothing_while_live() {
    assert_eq!(Link::open().feed(Input::Due), keep());
}
