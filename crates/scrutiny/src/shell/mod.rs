//! A POSIX shell's text as the commands it runs, read by a real parser (tree-sitter-bash). Nothing is run or expanded:
//! what only the shell will know stays unknown, and is said to be.

mod command;
mod given;
mod reader;
mod spelling;

#[cfg(test)]
mod tests;

use tree_sitter::Parser;

pub(crate) use self::{
    command::{Command, Redirect, Word},
    given::{is_shell, unwrapped},
};
use self::{given::given_text, reader::Reader};
use crate::types::Segment;

/// More text than this is not read (bytes): a shell payload of that size is not read by a person either.
const LONGEST: usize = 64 * 1024;
/// Commands inside commands deeper than this are not followed.
const DEEPEST: usize = 6;

/// Why a text could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is no shell text, or one that this parser does not know.
    NoShell,
    /// It is too long.
    TooLong,
}

/// A text, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Script {
    /// All its commands, those inside others too.
    pub commands: Vec<Command>,
    /// Its segments, as they stand in the text.
    pub segments: Vec<Segment>,
}

/// Reads a text as a shell would.
pub(crate) fn read(text: &str) -> Result<Script, Unread> {
    let mut script = Script::default();
    read_into(text, 0, None, &mut script)?;
    Ok(script)
}

fn read_into(text: &str, depth: usize, outer: Option<usize>, script: &mut Script) -> Result<(), Unread> {
    if text.len() > LONGEST {
        return Err(Unread::TooLong);
    }
    if depth > DEEPEST {
        return Err(Unread::NoShell);
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Unread::NoShell)?;
    let tree = parser.parse(text, None).ok_or(Unread::NoShell)?;
    if tree.root_node().has_error() {
        return Err(Unread::NoShell);
    }
    let mut reader = Reader { text, script, depth, outer };
    reader.statements(tree.root_node(), "")?;
    let inner: Vec<(String, usize)> = reader.script.commands.iter().flat_map(given_text).collect();
    for (inner, segment) in inner {
        let before = script.commands.len();
        read_given(&inner, depth + 1, segment, script)?;
        for command in script.commands.iter_mut().skip(before) {
            command.is_inner = true;
        }
    }
    Ok(())
}

fn read_given(text: &str, depth: usize, segment: usize, script: &mut Script) -> Result<(), Unread> {
    let mut given = Script::default();
    read_into(text, depth, Some(segment), &mut given)?;
    script.commands.extend(given.commands);
    Ok(())
}
