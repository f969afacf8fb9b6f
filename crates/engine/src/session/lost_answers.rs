//! Decisions whose answer was lost, and that the server then called settled: whether it was ours that settled the
//! request, only what became of its call can tell. Until then, and where that tells nothing, the card says that nobody
//! knows.

use contract::request::Fate;
use store::StoreError;

use super::{reduce::lost::Told, task::SessionTask};

impl SessionTask {
    /// The server has an answer to a request, and the one of ours that was lost may be it.
    pub(super) async fn settle_by_its_call(&mut self, request: &str) -> Result<(), StoreError> {
        let Some(flight) = self.in_flight.get_mut(request) else { return Ok(()) };
        flight.unsure = true;
        flight.retry_at = None;
        // Known as unknown by the reducer alone: the ledger hears the last word, and a crash asks the server again.
        let (ours, attempt) = (flight.ours(Fate::Unknown, flight.at), flight.attempt);
        if self.fold.reducer.told_by_the_call(request, ours.choice) == Told::NotYet {
            self.fold.reducer.decided(request, ours, attempt);
            return Ok(());
        }
        self.settle_unsure().await
    }

    /// What the ends of calls have told of such decisions.
    pub(super) async fn settle_unsure(&mut self) -> Result<(), StoreError> {
        let told: Vec<(String, Fate)> = self
            .in_flight
            .iter()
            .filter(|(_, flight)| flight.unsure)
            .filter_map(|(request, flight)| {
                let choice = flight.ours(Fate::Unknown, flight.at).choice;
                let fate = match self.fold.reducer.told_by_the_call(request, choice) {
                    Told::NotYet => return None,
                    Told::AsChosen => Fate::Accepted,
                    Told::Otherwise => Fate::Superseded,
                    Told::Nothing => Fate::Unknown,
                };
                Some((request.clone(), fate))
            })
            .collect();
        for (request, fate) in told {
            self.settle(&request, fate).await?;
        }
        Ok(())
    }
}
