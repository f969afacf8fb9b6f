//! The schema as it stands after all migrations. A change of it is a new migration, never an edit of an old one.

use std::fmt::Write;

#[tokio::test]
async fn the_schema_is_the_reviewed_one_and_has_no_place_for_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.db");
    store::Store::open(&path, 1).unwrap().store.close().await.unwrap();
    let conn = rusqlite::Connection::open(&path).unwrap();
    // The shadow tables of a full-text table are SQLite's own.
    let mut query = conn
        .prepare(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
               AND name NOT GLOB 'items_fts_*' AND name NOT GLOB 'items_pairs_*' ORDER BY name",
        )
        .unwrap();
    let mut schema = String::new();
    for sql in query.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        writeln!(schema, "{};\n", sql.unwrap()).unwrap();
    }
    insta::assert_snapshot!(schema);

    let mut columns = conn
        .prepare(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'",
        )
        .unwrap();
    let secret: Vec<String> = columns
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap()
        .map(Result::unwrap)
        .filter(|name| ["token", "secret", "password", "authorization"].iter().any(|word| name.contains(word)))
        .collect();
    assert_eq!(secret, ["servers.token_state"], "where a token is, never the token");
}
