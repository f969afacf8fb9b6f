//! What every endpoint of v3 answers (§1 and §2).

use practice::{TurnsFaults, TurnsManner, TurnsVersion};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Answer, mixed_setup, raw, rig, rig_of, rig_with, tool, user};

fn plain_text(answer: &Answer, status: u16, text: &str) {
    assert_eq!((answer.status, answer.text().as_str()), (status, text));
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
}

fn refused(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert!(answer.json()["error"].is_string());
}

#[tokio::test]
async fn meta_needs_no_token_and_everything_else_does() {
    let rig = rig().await;
    let bare = async |path: &str| raw(&format!("{}{path}", rig.base), "GET", &[], "").await.unwrap();
    let meta = bare("/meta").await;
    assert_eq!((meta.status, &meta.json()["version"]), (200, &json!(3)));
    let unauthorized = bare("/sessions").await;
    plain_text(&unauthorized, 401, "Unauthorized");
    assert_eq!(unauthorized.header("www-authenticate").unwrap(), "Bearer realm=\"\"");
    rig.turns.set_manner(TurnsManner { meta_auth: true, ..TurnsManner::default() });
    plain_text(&bare("/meta").await, 401, "Unauthorized");
    assert_eq!(rig.get("/meta").await.status, 200);
}

#[tokio::test]
async fn meta_tells_agents_with_tools_options_and_capabilities() {
    let rig = rig().await;
    let meta = rig.get("/meta").await.json();
    let agent = &meta["agents"][0];
    assert_eq!((&agent["name"], &agent["version"]), (&json!("practice"), &json!("1.0.0")));
    let kinds: Vec<&Value> = agent["options"].as_array().unwrap().iter().map(|option| &option["type"]).collect();
    assert_eq!(kinds, ["text", "select", "secret"]);
    assert_eq!(agent["options"][1]["options"], json!(["practice-1", "practice-2"]));
    assert!(agent["options"][0].get("options").is_none());
    assert_eq!(agent["tools"][1]["parameters"]["required"], json!(["text"]));
    assert_eq!(agent["capabilities"]["application"]["tools"], json!({}));
    assert_eq!(meta["agents"][1]["title"], "写手");
    rig.turns.hide_agent("writer", true);
    assert_eq!(rig.get("/meta").await.json()["agents"].as_array().unwrap().len(), 1);
    rig.turns.hide_agent("writer", false);
    assert_eq!(rig.get("/meta").await.json()["agents"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_version_nobody_knows_can_be_told() {
    let rig = rig_with(TurnsManner { number: Some(9), ..TurnsManner::default() }).await;
    assert_eq!(rig.get("/meta").await.json()["version"], 9);
}

#[tokio::test]
async fn a_session_is_made_shown_listed_and_deleted() {
    let rig = rig().await;
    let mut body = mixed_setup();
    body["agent"]["options"] = json!({"tone": "dry", "api_key": "s3cret"});
    body["messages"] = json!([{"role": "system", "content": "Be brief."}, user("hi")]);
    let made = rig.post("/sessions", &body).await;
    assert_eq!((made.status, made.header("location")), (201, None));
    let id = made.json()["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(made.text(), format!("{{\"sessionId\":\"{id}\"}}"));
    let shown = rig.session(&id).await;
    let agent = json!({"name": "practice", "tools": [{"name": "clock", "trust": true}, {"name": "write_note",
        "trust": false}], "options": {"api_key": "***", "tone": "dry"}});
    assert_eq!(shown, json!({"sessionId": id, "agent": agent, "tools": [tool("calc"), tool("pick")]}));
    assert_eq!(rig.turns.option(&id, "api_key").unwrap().unwrap(), "s3cret");
    assert_eq!(rig.get("/sessions").await.json(), json!({"sessions": [shown]}));
    let system = &rig.history(&id).await[0];
    assert_eq!(*system, json!({"role": "system", "content": "Be brief."}));
    let deleted = rig.send("DELETE", &format!("/sessions/{id}"), "").await;
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    for answer in [
        rig.get(&format!("/sessions/{id}")).await,
        rig.send("DELETE", &format!("/sessions/{id}"), "").await,
        rig.get(&format!("/sessions/{id}/history?type=full")).await,
        rig.none(&id, json!([user("hi")])).await,
    ] {
        refused(&answer, 404);
    }
}

#[tokio::test]
async fn sessions_come_in_pages_newest_first_until_no_cursor_is_left() {
    let rig = rig_with(TurnsManner { page: 2, ..TurnsManner::default() }).await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, rig.plain().await);
    }
    let (mut seen, mut path, mut pages) = (Vec::new(), "/sessions".to_owned(), 0);
    loop {
        let page = rig.get(&path).await.json();
        pages += 1;
        seen.extend(
            page["sessions"].as_array().unwrap().iter().map(|one| one["sessionId"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/sessions?after={next}");
    }
    assert_eq!((seen, pages), (made, 3));
    assert_eq!(rig.get("/sessions?after=nonsense").await.status, 400);
}

#[tokio::test]
async fn a_faulty_list_names_the_same_page_for_ever() {
    let faults = TurnsFaults { repeated_cursor: true, ..TurnsFaults::default() };
    let rig = rig_with(TurnsManner { page: 1, faults, ..TurnsManner::default() }).await;
    for _ in 0..3 {
        rig.plain().await;
    }
    let next = rig.get("/sessions").await.json()["next"].as_str().unwrap().to_owned();
    assert_eq!(rig.get(&format!("/sessions?after={next}")).await.json()["next"], next.as_str());
}

#[tokio::test]
async fn v3_looks_at_nothing_it_is_given_but_the_name() {
    let rig = rig().await;
    assert_eq!(rig.post("/sessions", &json!({"agent": {"name": "nobody"}})).await.status, 201);
    refused(&rig.post("/sessions", &json!({"agent": {}})).await, 400);
    plain_text(&rig.send("POST", "/sessions", "{not json").await, 500, "Internal Server Error");
    let id = rig.plain().await;
    plain_text(&rig.send("POST", &format!("/sessions/{id}/turns"), "{").await, 500, "Internal Server Error");
}

#[tokio::test]
async fn an_unknown_route_is_plain_text_and_so_is_one_of_another_version() {
    let rig = rig().await;
    let id = rig.plain().await;
    let gone = async |method: &str, path: String| {
        plain_text(&rig.send(method, &path, "{}").await, 404, "404 Not Found");
    };
    gone("GET", "/nothing".into()).await;
    gone("PATCH", format!("/sessions/{id}")).await;
    gone("PUT", format!("/sessions/{id}")).await;
    gone("POST", format!("/sessions/{id}/input")).await;
    gone("GET", format!("/sessions/{id}/events/stream?stream=delta")).await;
    rig.turns.set_manner(TurnsManner::of(TurnsVersion::V4));
    gone("POST", format!("/sessions/{id}/turns")).await;
}

#[tokio::test]
async fn history_wants_a_type_that_is_offered() {
    let rig = rig_with(TurnsManner { full: false, ..TurnsManner::default() }).await;
    let id = rig.plain().await;
    let ask = async |query: &str| rig.get(&format!("/sessions/{id}/history{query}")).await;
    refused(&ask("").await, 400);
    refused(&ask("?type=all").await, 400);
    refused(&ask("?type=full").await, 404);
    assert_eq!(ask("?type=compacted").await.text(), r#"{"history":{"compacted":[]}}"#);
}

#[tokio::test]
async fn a_compacted_history_leaves_out_thinking_and_what_is_old() {
    let rig = rig().await;
    let id = rig.plain().await;
    for _ in 0..7 {
        rig.say(&id, "THINK about it").await;
    }
    let full = rig.history(&id).await;
    let compacted = rig.get(&format!("/sessions/{id}/history?type=compacted")).await.json();
    let compacted = compacted["history"]["compacted"].as_array().unwrap().clone();
    assert_eq!((full.len(), compacted.len()), (14, 13));
    assert_eq!(compacted[0]["content"], "Summary of 2 earlier messages.");
    assert_eq!(full[13]["content"][0]["type"], "thinking");
    assert_eq!(compacted[12]["content"][0]["type"], "text");
}

#[tokio::test]
async fn a_mode_that_is_not_offered_is_refused() {
    let rig = rig_with(TurnsManner { delta: false, ..TurnsManner::default() }).await;
    let id = rig.plain().await;
    let path = format!("/sessions/{id}/turns");
    refused(&rig.post(&path, &json!({"messages": [user("hi")], "stream": "delta"})).await, 400);
    refused(&rig.post(&path, &json!({"messages": [user("hi")], "stream": "waves"})).await, 400);
    assert_eq!(rig.post(&path, &json!({"messages": [user("hi")]})).await.status, 200);
    assert!(
        rig_of(TurnsVersion::V3).await.get("/meta").await.json()["agents"][0]["capabilities"]["stream"]["none"]
            .is_object()
    );
}
