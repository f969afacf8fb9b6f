//! What a server says of itself, and what of it the person should know.

use contract::server::{ModelChoice, ServerFacts, ServerWarning};

use super::link::{AskError, ServerLink};
use crate::hub::Hub;

/// Reads what a server says of itself and shows it. A part that cannot be read leaves what was known.
///
/// # Errors
/// The first refusal; the parts that could be read are shown all the same.
pub async fn read(link: &ServerLink, hub: &Hub) -> Result<(), AskError> {
    let asks = link.protocol.server_facts();
    if asks.is_empty() {
        return Ok(());
    }
    let mut facts = hub.server(&link.id).map(|server| server.facts).unwrap_or_default();
    let mut first = Ok(());
    for ask in asks {
        match link.ask(ask).await {
            Ok(part) => part(&mut facts),
            Err(failed) => first = first.and(Err(failed)),
        }
    }
    if !link.is_retired() {
        hub.change_server(&link.id, |server| {
            server.warnings.retain(|warning| !of_facts(*warning));
            server.warnings.extend(warnings(&facts));
            server.facts = facts;
        });
    }
    first
}

/// Tokens there is room for in the context of the model in use.
#[must_use]
pub fn window(facts: &ServerFacts) -> Option<u64> {
    let used = facts.model.as_ref()?;
    let named = |model: &&ModelChoice| &model.name == used;
    let called = |model: &&ModelChoice| model.model.as_ref() == Some(used);
    let model = facts.models.iter().find(named).or_else(|| facts.models.iter().find(called))?;
    model.context_window
}

fn of_facts(warning: ServerWarning) -> bool {
    match warning {
        ServerWarning::CommandsNotAsked | ServerWarning::CommandsRefused | ServerWarning::NoModel => true,
        ServerWarning::Unauthenticated
        | ServerWarning::PlainHttp
        | ServerWarning::TokenNotStored
        | ServerWarning::StorageFull => false,
    }
}

/// A level other than the asking one answers in the person's place, whatever a run asks for.
fn warnings(facts: &ServerFacts) -> Vec<ServerWarning> {
    let mut warnings = Vec::new();
    if let (Some(level), Some(asking)) = (&facts.permission, &facts.asking_permission)
        && level != asking
    {
        let refuses = facts.refusing_permission.as_ref() == Some(level);
        warnings.push(if refuses { ServerWarning::CommandsRefused } else { ServerWarning::CommandsNotAsked });
    }
    if facts.no_model {
        warnings.push(ServerWarning::NoModel);
    }
    warnings
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn at(level: &str) -> ServerFacts {
        ServerFacts {
            permission: Some(level.to_owned()),
            asking_permission: Some("ask".to_owned()),
            refusing_permission: Some("deny".to_owned()),
            ..ServerFacts::default()
        }
    }

    #[test]
    fn a_level_that_answers_in_the_persons_place_is_warned_of() {
        assert_eq!(warnings(&at("ask")), []);
        assert_eq!(warnings(&at("deny")), [ServerWarning::CommandsRefused]);
        assert_eq!(warnings(&at("safe")), [ServerWarning::CommandsNotAsked]);
        assert_eq!(warnings(&ServerFacts::default()), []);
    }

    #[test]
    fn the_window_is_that_of_the_model_in_use_by_its_name_before_its_providers_name_for_it() {
        let model = |name: &str, model: Option<&str>, room| ModelChoice {
            name: name.to_owned(),
            model: model.map(str::to_owned),
            context_window: room,
            images: false,
        };
        let models = vec![model("A", Some("b"), Some(1)), model("b", None, Some(2)), model("c", None, None)];
        let window_of = |used: Option<&str>| {
            window(&ServerFacts { model: used.map(str::to_owned), models: models.clone(), ..ServerFacts::default() })
        };
        assert_eq!(
            [Some("A"), Some("b"), Some("c"), Some("d"), None].map(window_of),
            [Some(1), Some(2), None, None, None]
        );
    }

    #[test]
    fn a_server_without_a_model_is_warned_of() {
        let facts = ServerFacts { no_model: true, ..ServerFacts::default() };
        assert_eq!(warnings(&facts), [ServerWarning::NoModel]);
    }
}
