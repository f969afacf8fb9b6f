//! History: every session ever seen, search, the connection log.

use contract::{
    command::LogQuery,
    connection::ConnectionLogRow,
    error::AppError,
    search::{HistoryPage, HistoryQuery},
};

use super::Engine;

impl Engine {
    /// History and search. Works without any server.
    ///
    /// # Errors
    /// A failing store.
    pub async fn search_history(&self, query: HistoryQuery) -> Result<HistoryPage, AppError> {
        let mut page = self.hub().store.search(query).await?;
        for hit in &mut page.hits {
            if let Some(row) = self.hub().row(hit.row.id) {
                hit.row = row;
            }
        }
        if page.index_behind > 0 {
            self.inner.index.notify_one();
        }
        Ok(page)
    }

    /// The connection log of a session, newest first.
    ///
    /// # Errors
    /// A failing store.
    pub async fn connection_log(&self, query: LogQuery) -> Result<Vec<ConnectionLogRow>, AppError> {
        Ok(self.hub().store.connection_log(query.session, query.limit.min(1_000)).await?)
    }
}
