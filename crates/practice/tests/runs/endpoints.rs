//! The endpoints around the runs: shapes, statuses, and the one shape of errors (§2 and §3).

use practice::{Generation, Permission, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{asking, last, of, raw, rig, rig_of, rig_with, until};

#[tokio::test]
async fn health_needs_no_token_and_everything_else_does() {
    let rig = rig().await;
    let bare = async |method: &str, path: &str| raw(&format!("{}{path}", rig.base), method, &[], "{}").await.unwrap();
    for path in ["/health", "/", "", "/docs", "/openapi.json"] {
        assert_eq!(bare("GET", path).await.status, 200, "{path}");
    }
    let reads =
        ["/settings", "/models", "/sessions", "/sessions/current/history", "/runs/current", "/usage", "/mentions"];
    for path in reads {
        let refused = bare("GET", path).await;
        assert_eq!((refused.status, refused.header("www-authenticate").as_deref()), (401, Some("Bearer")), "{path}");
        assert_eq!(refused.json(), json!({"error": "unauthorized", "message": "A bearer token is required"}));
    }
    for path in ["/prompts", "/runs/approvals", "/runs/cancel"] {
        assert_eq!(bare("POST", path).await.status, 401, "{path}");
    }
    let wrong = raw(&format!("{}/settings", rig.base), "GET", &[("x-api-key", "tok")], "").await.unwrap();
    assert_eq!(wrong.status, 401, "only a bearer token counts");
}

#[tokio::test]
async fn health_says_what_there_is_in_this_order() {
    let rig = rig().await;
    let id = rig.runs.current();
    assert_eq!(
        rig.get("/health").await.text(),
        format!(
            r#"{{"status":"ok","version":"0.2.0","workspace":"/home/dev/project","ready":true,"session":"{id}","models":1,"busy":false}}"#
        )
    );
    assert_eq!(rig_of(Generation::First).await.get("/health").await.json()["version"], "0.1.1");
}

#[tokio::test]
async fn an_unknown_path_is_404_a_wrong_method_405_and_no_cors_header_is_ever_sent() {
    let rig = rig().await;
    let unknown = rig.get("/nope").await;
    assert_eq!((unknown.status, unknown.text()), (404, r#"{"error":"not_found","message":"Not Found"}"#.to_owned()));
    for (method, path) in [("OPTIONS", "/prompts"), ("DELETE", "/health"), ("GET", "/prompts")] {
        let refused = rig.send(method, path, "").await;
        assert_eq!(refused.json(), json!({"error": "invalid", "message": "Method Not Allowed"}));
        assert_eq!(refused.status, 405);
        assert!(!refused.head.to_lowercase().contains("access-control"));
        assert!(!refused.head.to_lowercase().contains("request-id"));
    }
}

#[tokio::test]
async fn a_stream_is_chunked_and_has_neither_ids_nor_heartbeats() {
    let rig = rig().await;
    let mut live = rig.prompt(&asking("RUN:echo hi")).await;
    let head = live.head.to_lowercase();
    assert!(
        head.contains("content-type: text/event-stream; charset=utf-8") && head.contains("transfer-encoding: chunked")
    );
    let frames = until(&mut live, "approval_requested").await;
    assert!(frames.iter().all(|frame| frame.id.is_empty() && frame.bytes.starts_with(b"event: ")));
    assert!(tokio::time::timeout(crate::client::SHORT, live.block()).await.is_err(), "not one byte while it waits");
}

#[tokio::test]
async fn settings_show_and_change_the_level() {
    let rig = rig_with(RunsManner { permission: Permission::Deny, ..RunsManner::default() }).await;
    let settings = rig.get("/settings").await.json();
    assert_eq!((&settings["permission"], &settings["unsaved"]), (&json!("deny"), &Value::Null));
    assert_eq!(settings["permissions"], json!(["deny", "ask", "safe", "full"]));
    let changed = rig.send("PATCH", "/settings", r#"{"permission":"auto","effort":"high"}"#).await.json();
    assert_eq!((&changed["permission"], &changed["effort"]), (&json!("full"), &json!("high")));
    for (body, status) in [
        ("{}", 400),
        (r#"{"permission":"sometimes"}"#, 422),
        (r#"{"model":"none"}"#, 400),
        (r#"{"effort":"none"}"#, 400),
        (r#"{"compact_percent":101}"#, 422),
    ] {
        assert_eq!(rig.send("PATCH", "/settings", body).await.status, status, "{body}");
    }
}

#[tokio::test]
async fn before_there_is_a_model_only_three_endpoints_work_and_the_first_model_makes_it_ready() {
    let rig = rig_with(RunsManner { ready: false, ..RunsManner::default() }).await;
    let health = rig.get("/health").await.json();
    assert_eq!((&health["ready"], &health["session"], &health["models"]), (&json!(false), &Value::Null, &json!(0)));
    assert_eq!(rig.get("/models").await.text(), r#"{"models":[],"current":null}"#);
    assert_eq!(rig.get("/runs/current").await.status, 200);
    for path in ["/settings", "/sessions", "/sessions/current", "/runs/resumable", "/mentions"] {
        let refused = rig.get(path).await;
        assert_eq!((refused.status, refused.json()["error"].clone()), (409, json!("no_model")), "{path}");
    }
    assert_eq!(rig.post("/prompts", asking("hi")).await.status, 409);
    let added = rig.post("/models", json!({"model": "gpt-x", "token": "sk", "multimodal": true})).await;
    assert_eq!((added.status, added.json()["current"].clone()), (201, json!("gpt-x")));
    assert!(!added.text().contains("sk"), "a token never comes back");
    assert_eq!(last(&rig.run(&asking("hi")).await).0, "result");
}

#[tokio::test]
async fn models_are_added_changed_and_removed() {
    let rig = rig().await;
    let added =
        rig.post("/models", json!({"model": "m-2", "display_model": "Two", "reasoning_efforts": ["low"]})).await;
    assert_eq!((added.status, added.json()["current"].clone()), (201, json!("Practice")));
    let refused = rig.post("/models", json!({"model": "m-3", "colour": "red"})).await;
    assert_eq!(
        (refused.status, refused.json()["message"].clone()),
        (422, json!("colour: Extra inputs are not permitted"))
    );
    assert_eq!(rig.post("/models", json!({"model": "m-2", "display_model": "Two"})).await.status, 400);
    let changed = rig.send("PATCH", "/models/Two", r#"{"multimodal":true}"#).await.json();
    assert_eq!(changed["models"][1]["multimodal"], true);
    assert_eq!(rig.send("PATCH", "/models/Two", "{}").await.status, 400);
    let used = rig.send("PATCH", "/settings", r#"{"model":"Two"}"#).await.json();
    assert_eq!((&used["model"]["name"], &used["efforts"]), (&json!("Two"), &json!(["low"])));
    let removed = rig.send("DELETE", "/models/Two", "").await.json();
    assert_eq!((&removed["current"], removed["models"].as_array().unwrap().len()), (&json!("Practice"), 1));
    assert_eq!(rig.send("DELETE", "/models/Practice", "").await.status, 400, "the last one stays");
}

#[tokio::test]
async fn usage_grows_over_the_session_and_a_result_counts_its_own_run() {
    let rig = rig().await;
    rig.run(&json!({"text": "one"})).await;
    let frames = rig.run(&json!({"text": "two"})).await;
    assert_eq!(of(&frames, "usage_updated")[0]["usage"]["requests"], 2);
    assert_eq!(last(&frames).1["usage"]["requests"], 1);
    assert_eq!(rig.get("/usage").await.json()["output_tokens"], 24);
    assert_eq!(rig.get("/sessions/current/stats").await.json()["total_tokens"], 225);
    let id = rig.runs.current();
    let stats = rig.get(&format!("/sessions/stats?ids={id},nobody")).await.json();
    assert_eq!((stats["stats"].as_array().unwrap().len(), stats["stats"][0]["entries"].clone()), (1, json!(4)));
    assert_eq!(rig.get("/usage/ledger").await.json()["total"]["requests"], 2);
}

#[tokio::test]
async fn mentions_complete_what_was_typed() {
    let rig = rig().await;
    let found = rig.get("/mentions?query=users").await.json();
    let tokens: Vec<_> = found["mentions"].as_array().unwrap().iter().map(|mention| mention["token"].clone()).collect();
    assert_eq!(tokens, ["@src/users.py", "@tests/test_users.py"]);
    assert_eq!(rig.get("/mentions?query=users&limit=1").await.json()["mentions"].as_array().unwrap().len(), 1);
    assert_eq!(rig.get("/mentions?query=%E8%AF%B4%E6%98%8E").await.json()["mentions"][0]["name"], "docs/使用说明.md");
}

#[tokio::test]
async fn the_export_is_a_page_that_escapes_what_was_said() {
    let rig = rig().await;
    rig.run(&json!({"text": "<script>alert(1)</script>"})).await;
    let page = rig.get("/sessions/current/export").await;
    assert!(page.header("content-disposition").unwrap().starts_with("attachment; filename=\"zettcode-"));
    assert_eq!(page.header("content-type").as_deref(), Some("text/html; charset=utf-8"));
    assert!(page.text().contains("&lt;script&gt;") && !page.text().contains("<script>"));
}

#[tokio::test]
async fn the_openapi_paths_tell_the_generations_apart() {
    let paths = async |generation| {
        let document = rig_of(generation).await.get("/openapi.json").await.json();
        document["paths"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let (first, second) = (paths(Generation::First).await, paths(Generation::Second).await);
    assert!(first.contains(&"/runs/steer".to_owned()) && !first.contains(&"/messages".to_owned()));
    assert!(second.contains(&"/messages".to_owned()));
    assert_eq!(rig_of(Generation::First).await.get("/messages").await.status, 404);
}

#[tokio::test]
async fn the_small_endpoints_have_their_shapes() {
    let rig = rig().await;
    assert_eq!(rig.get("/messages").await.text(), r#"{"messages":[]}"#);
    assert_eq!(rig.post("/messages/message-1", json!({})).await.status, 404);
    let sent = rig.post("/sessions/current/send", json!({"to": "other", "text": "hi"})).await;
    assert_eq!((sent.status, sent.json()["error"].clone()), (404, json!("unreachable")));
    assert_eq!(rig.get("/plugins").await.json()["failures"], json!([]));
    assert_eq!(rig.post("/doctor", Value::Null).await.json()["checks"][0]["ok"], true);
    let path = "/sessions/current/self-compaction";
    assert_eq!(rig.get(path).await.json(), json!({"choice": null, "effective": false}));
    assert_eq!(rig.send("PUT", path, r#"{"choice":true}"#).await.json(), json!({"choice": true, "effective": true}));
    assert_eq!(rig.send("PUT", path, r#"{"choice":"yes"}"#).await.status, 422);
}

#[tokio::test]
async fn both_protocols_live_on_one_listener() {
    let rig = rig().await;
    let url = format!("{}/agents", rig.practice.base_url());
    assert_eq!(raw(&url, "GET", &[("authorization", "Bearer tok")], "").await.unwrap().status, 200);
    rig.run(&json!({"text": "hello"})).await;
    let posts = rig.control.counters().posts;
    assert_eq!((posts[0].path.as_str(), &posts[0].body), ("/runs/prompts", &json!({"text": "hello"})));
}
