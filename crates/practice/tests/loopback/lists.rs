//! Lists, tokens and headers (wire page §1, §2, §5).

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{CLAUDE, Live, QODER, create, get, id_of, listed, message, post, raw, say, send, server};

#[tokio::test]
async fn qoder_takes_bearer_alone_and_claude_takes_both() {
    let practice = server().await;
    let (qoder, claude) = (practice.base_url(), practice.claude_base_url());
    let status = async |url: String, headers: &[(&str, &str)]| raw(&url, "GET", headers, "").await.unwrap().status;
    assert_eq!(status(format!("{qoder}/agents?limit=1"), QODER).await, 200);
    assert_eq!(status(format!("{qoder}/agents?limit=1"), &[("x-api-key", "tok")]).await, 401);
    assert_eq!(status(format!("{qoder}/agents"), &[("authorization", "Bearer other")]).await, 401);
    assert_eq!(status(format!("{claude}/agents"), CLAUDE).await, 200);
    let mut bearer = CLAUDE.to_vec();
    bearer[0] = ("authorization", "Bearer tok");
    assert_eq!(status(format!("{claude}/agents"), &bearer).await, 200);
    assert_eq!(status(format!("{claude}/agents"), &CLAUDE[..2]).await, 400);
    assert_eq!(status(format!("{claude}/agents"), &[CLAUDE[0], CLAUDE[2]]).await, 400);
}

#[tokio::test]
async fn a_server_may_ask_for_no_token_and_other_paths_are_nowhere() {
    let practice = server().await;
    let origin = practice.base_url().replace("/api/v1/cloud", "");
    for path in ["/health", "/meta", "/"] {
        assert_eq!(raw(&format!("{origin}{path}"), "GET", &[], "").await.unwrap().status, 404, "{path}");
    }
    let config = practice::Config { token: Some(String::new()), ..practice::Config::default() };
    let open = practice::Practice::start(config).await.unwrap();
    assert_eq!(raw(&format!("{}/agents", open.base_url()), "GET", &[], "").await.unwrap().status, 200);
}

#[tokio::test]
async fn a_refusal_has_the_envelope_and_the_request_id_of_its_header() {
    let practice = server().await;
    let answer = get(&format!("{}/sessions/nothing", practice.base_url())).await;
    assert_eq!(answer.status, 404);
    let body = answer.json();
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("not_found_error")));
    assert_eq!(answer.header("x-request-id").as_deref(), body["request_id"].as_str());
    assert_eq!(get(&format!("{}/nowhere", practice.base_url())).await.json()["error"]["type"], "not_found_error");
}

#[tokio::test]
async fn limits_and_cursors_are_held_to_the_page() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    for query in ["limit=101", "limit=0", "limit=x", "order=up", "after_id=a&before_id=b", "page=a&after_id=b"] {
        let answer = get(&format!("{session}/events?{query}")).await;
        assert_eq!(
            (answer.status, answer.json()["error"]["type"].clone()),
            (400, json!("invalid_request_error")),
            "{query}"
        );
    }
    let claude = create(&practice.claude_base_url(), &[]).await;
    assert_eq!(get(&format!("{claude}/events?limit=1000")).await.status, 200);
    assert_eq!(get(&format!("{claude}/events?limit=1001")).await.status, 400);
}

#[tokio::test]
async fn pages_by_cursor_and_by_id_visit_every_event_once() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[("practice.start", "replay")]).await;
    say(&session, "hello").await;
    Live::open(&format!("{session}/events/stream")).await.idle().await;
    let all: Vec<Value> = listed(&session).await.iter().map(|event| event["id"].clone()).collect();
    assert!(all.len() >= 5);
    for (cursor, from) in [("page", "next_page"), ("after_id", "last_id")] {
        let (mut seen, mut query) = (Vec::new(), String::new());
        loop {
            let page = get(&format!("{session}/events?limit=2{query}")).await.json();
            seen.extend(page["data"].as_array().unwrap().iter().map(|event| event["id"].clone()));
            if page["has_more"] == false {
                assert_eq!(page["next_page"], Value::Null);
                break;
            }
            query = format!("&{cursor}={}", page[from].as_str().unwrap());
        }
        assert_eq!(seen, all);
    }
    let newest = get(&format!("{session}/events?order=desc&limit=1")).await.json();
    assert_eq!(newest["data"][0]["id"], all[all.len() - 1]);
    let some = get(&format!("{session}/events?types%5B%5D=user.message&types[]=agent.message")).await.json();
    assert_eq!(some["data"].as_array().unwrap().len(), 2);
    assert_eq!(get(&format!("{session}/events?types=nothing")).await.json()["data"], json!([]));
}

#[tokio::test]
async fn the_list_path_turns_into_a_stream_by_its_accept_header() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[("practice.start", "replay")]).await;
    say(&session, "hello").await;
    let accept = [("accept", "text/event-stream")];
    let mut live = Live::open_with(&format!("{session}/events"), &accept).await;
    assert!(live.head.contains("text/event-stream"));
    live.idle().await;
}

#[tokio::test]
async fn sessions_are_listed_newest_first_and_filtered() {
    let practice = server().await;
    let base = practice.base_url();
    let (first, second) = (create(&base, &[]).await, create(&base, &[]).await);
    let ids = async |query: &str| -> Vec<String> {
        let page = get(&format!("{base}/sessions?{query}")).await.json();
        page["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("").await, [id_of(&second), id_of(&first)]);
    assert_eq!(ids("order=asc").await, [id_of(&first), id_of(&second)]);
    post(&format!("{first}/archive"), &json!({})).await;
    assert_eq!(ids("").await, [id_of(&second)]);
    assert_eq!(ids("include_archived=true").await.len(), 2);
    assert_eq!(ids("statuses%5B%5D=running").await.len(), 0);
    assert_eq!(ids("created_at%5Blt%5D=2020-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(ids("agent_id=agent_practice").await.len(), 1);
}

#[tokio::test]
async fn the_same_key_gives_the_first_answer_and_another_body_a_conflict() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let headers = [QODER[0], ("idempotency-key", "k1")];
    let url = format!("{session}/events");
    let body = json!({"events": [message("hello")]}).to_string();
    let first = raw(&url, "POST", &headers, &body).await.unwrap();
    let again = raw(&url, "POST", &headers, &body).await.unwrap();
    assert_eq!((again.status, again.json()), (200, first.json()));
    let other = raw(&url, "POST", &headers, &json!({"events": [message("bye")]}).to_string()).await.unwrap();
    assert_eq!((other.status, other.json()["error"]["type"].clone()), (409, json!("conflict_error")));
    let counters = practice.control().counters();
    assert_eq!(counters.posts.iter().filter(|post| post.repeated).count(), 1);
    let echoes = listed(&session).await.into_iter().filter(|event| event["type"] == "user.message").count();
    assert_eq!(echoes, 1);
}

#[tokio::test]
async fn what_the_send_page_forbids_is_refused() {
    let practice = server().await;
    let session = create(&practice.base_url(), &[]).await;
    let refused = [
        json!([]),
        json!([{"type": "user.message", "content": "a string"}]),
        json!([{"type": "user.message", "content": []}]),
        json!([{"type": "user.tool_confirmation", "tool_use_id": "evt_none", "result": "allow"}]),
        json!([{"type": "user.tool_confirmation", "tool_use_id": "evt_none", "result": "approve"}]),
        json!([{"type": "user.nonsense"}]),
        json!([{"type": "system.message", "content": [{"type": "text", "text": "alone"}]}]),
        json!([{"type": "user.define_outcome", "description": "d", "rubric": "text"}]),
        json!([{"type": "user.define_outcome", "description": "d", "rubric": {"type": "text", "content": "r"}, "max_iterations": 21}]),
    ];
    for events in refused {
        assert_eq!(send(&session, events.clone()).await.status, 400, "{events}");
    }
    assert_eq!(post(&format!("{session}/events"), &message("bare")).await.status, 400);
    assert!(listed(&session).await.is_empty(), "nothing of a refused request is taken");
    let both =
        send(&session, json!([message("hi"), {"type": "system.message", "content": [{"type": "text", "text": "n"}]}]));
    assert_eq!(both.await.status, 200);
}
