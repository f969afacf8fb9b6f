//! The page's own words, read from its catalogue: a step looks for what the person reads, in either language.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

/// A language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// As it is called in the names of pictures.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// As it is called in the settings.
    pub fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "简体中文",
        }
    }
}

/// The catalogue of one language.
pub struct Words(Map<String, Value>);

impl Words {
    /// Reads a catalogue.
    ///
    /// # Errors
    /// Where it is no JSON object.
    pub fn of(language: Language) -> Result<Self> {
        let text = match language {
            Language::English => include_str!("../../ui/messages/en.json"),
            Language::Chinese => include_str!("../../ui/messages/zh-CN.json"),
        };
        Ok(Self(serde_json::from_str(text).context("the catalogue cannot be read")?))
    }

    /// The words under a key.
    ///
    /// # Errors
    /// Where there are none: a step asks for what the page cannot say.
    pub fn say(&self, key: &str) -> Result<String> {
        self.fill(key, &[])
    }

    /// The words under a key with its places filled in. Where the words depend on a number, a `1` chooses the singular.
    ///
    /// # Errors
    /// Where there are no such words.
    pub fn fill(&self, key: &str, values: &[(&str, &str)]) -> Result<String> {
        let entry = self.0.get(key).with_context(|| format!("the catalogue has no {key:?}"))?;
        let plural = if values.iter().any(|(_, value)| *value == "1") { "plural=one" } else { "plural=other" };
        let words = entry.as_str().or_else(|| entry.get(0)?.get("match")?.get(plural)?.as_str());
        let mut words = words.with_context(|| format!("{key:?} has no words"))?.to_owned();
        for (name, value) in values {
            words = words.replace(&format!("{{{name}}}"), value);
        }
        Ok(words)
    }
}
