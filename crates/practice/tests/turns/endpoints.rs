//! What every endpoint answers (§1 and §2).

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::client::{raw, rig};

#[tokio::test]
async fn meta_needs_no_token_and_everything_else_does() {
    let rig = rig().await;
    let bare = async |path: &str| raw(&format!("{}{path}", rig.base), "GET", &[], "").await.unwrap();
    let meta = bare("/meta").await;
    assert_eq!((meta.status, &meta.json()["version"]), (200, &json!(3)));
    let refused = bare("/sessions").await;
    assert_eq!((refused.status, refused.text().as_str()), (401, "Unauthorized"));
    assert_eq!(refused.header("www-authenticate").unwrap(), "Bearer realm=\"\"");
    assert!(refused.header("content-type").unwrap().starts_with("text/plain"));
}
