//! Walks the parsed tree and collects its commands.

use tree_sitter::Node;

use super::{
    Command, Redirect, Script, Unread, Word,
    spelling::{decoded, unescaped},
    unwrapped,
};
use crate::types::Segment;

pub(super) struct Reader<'a> {
    pub text: &'a str,
    pub script: &'a mut Script,
    pub depth: usize,
    pub outer: Option<usize>,
}

impl Reader<'_> {
    fn of(&self, node: Node<'_>) -> String {
        self.text.get(node.byte_range()).unwrap_or_default().to_owned()
    }

    /// Walks the children of a list of statements; gives the operator between two on to the second.
    pub(super) fn statements(&mut self, node: Node<'_>, joined_by: &str) -> Result<(), Unread> {
        let mut joined = joined_by.to_owned();
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        for child in children {
            if child.is_named() {
                if child.kind() == "comment" {
                    continue;
                }
                self.statement(child, &joined, &[])?;
                joined = ";".to_owned();
            } else if matches!(child.kind(), ";" | "&" | "&&" | "||" | "\n" | ";;") {
                joined = if child.kind() == "\n" { ";".to_owned() } else { child.kind().to_owned() };
            }
        }
        Ok(())
    }

    fn statement(&mut self, node: Node<'_>, joined_by: &str, fed_by: &[String]) -> Result<(), Unread> {
        match node.kind() {
            "command" => self.command(node, joined_by, fed_by, Vec::new(), None),
            "redirected_statement" => self.redirected(node, joined_by, fed_by),
            "pipeline" => {
                let mut fed: Vec<String> = fed_by.to_vec();
                let mut joined = joined_by.to_owned();
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                for child in children {
                    if child.is_named() {
                        let before = self.script.commands.len();
                        self.statement(child, &joined, &fed)?;
                        let programs = self.script.commands.iter().skip(before).filter(|command| !command.is_inner);
                        fed.extend(programs.map(|command| unwrapped(command).program().to_owned()));
                    } else {
                        joined = child.kind().to_owned();
                    }
                }
                Ok(())
            }
            "list"
            | "program"
            | "compound_statement"
            | "subshell"
            | "do_group"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "for_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "case_item"
            | "negated_command"
            | "function_definition" => {
                let mut joined = joined_by.to_owned();
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                for child in children {
                    if is_statement(child.kind()) {
                        self.statement(child, &joined, fed_by)?;
                        joined = ";".to_owned();
                    } else if child.is_named() {
                        self.substitutions(child, self.script.segments.len().saturating_sub(1))?;
                    } else if matches!(child.kind(), "&" | "&&" | "||") {
                        joined = child.kind().to_owned();
                    }
                }
                Ok(())
            }
            "declaration_command"
            | "variable_assignment"
            | "variable_assignments"
            | "unset_command"
            | "test_command" => {
                let segment = self.segment(node, joined_by);
                let name = match node.kind() {
                    "test_command" => "test",
                    "variable_assignment" | "variable_assignments" => "=",
                    _ => "export",
                };
                let word = Word { text: name.to_owned(), ..Word::default() };
                let rest = Word { text: self.of(node), ..Word::default() };
                self.push(Command { words: vec![word, rest], segment, ..Command::default() });
                self.substitutions(node, segment)
            }
            _ => self.substitutions(node, self.script.segments.len().saturating_sub(1)),
        }
    }

    fn redirected(&mut self, node: Node<'_>, joined_by: &str, fed_by: &[String]) -> Result<(), Unread> {
        let mut redirects = Vec::new();
        let mut here = None;
        let mut body = None;
        let mut behind = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).collect::<Vec<_>>() {
            match child.kind() {
                "file_redirect" | "herestring_redirect" => redirects.extend(self.redirect(child)),
                "heredoc_redirect" => {
                    let mut inner = child.walk();
                    for part in child.children(&mut inner).collect::<Vec<_>>() {
                        match part.kind() {
                            "heredoc_body" => here = Some(self.of(part)),
                            "file_redirect" => redirects.extend(self.redirect(part)),
                            "pipeline" | "command" | "list" | "redirected_statement" => behind.push(part),
                            _ => {}
                        }
                    }
                }
                _ if child.is_named() => body = Some(child),
                _ => {}
            }
        }
        let before = self.script.commands.len();
        match body {
            Some(body) if body.kind() == "command" => {
                let segment_node = node;
                self.command_in(segment_node, body, joined_by, fed_by, redirects, here)?;
            }
            Some(body) => {
                self.statement(body, joined_by, fed_by)?;
                let segment = self.script.segments.len().saturating_sub(1);
                self.push(Command { redirects, here_text: here, segment, ..Command::default() });
            }
            None => {
                let segment = self.segment(node, joined_by);
                self.push(Command { redirects, segment, ..Command::default() });
            }
        }
        let fed: Vec<String> =
            self.script.commands.iter().skip(before).map(|command| unwrapped(command).program().to_owned()).collect();
        for part in behind {
            self.statement(part, "|", &fed)?;
        }
        Ok(())
    }

    fn redirect(&mut self, node: Node<'_>) -> Option<Redirect> {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let operator = children.iter().find(|child| !child.is_named()).map(|child| child.kind().to_owned())?;
        let target = children.iter().rev().find(|child| child.is_named() && child.kind() != "file_descriptor")?;
        let target = self.word(*target);
        Some(Redirect { operator, target })
    }

    fn command(
        &mut self,
        node: Node<'_>,
        joined_by: &str,
        fed_by: &[String],
        redirects: Vec<Redirect>,
        here: Option<String>,
    ) -> Result<(), Unread> {
        self.command_in(node, node, joined_by, fed_by, redirects, here)
    }

    fn command_in(
        &mut self,
        whole: Node<'_>,
        node: Node<'_>,
        joined_by: &str,
        fed_by: &[String],
        mut redirects: Vec<Redirect>,
        here_text: Option<String>,
    ) -> Result<(), Unread> {
        let segment = self.segment(whole, joined_by);
        let mut words = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).collect::<Vec<_>>() {
            match child.kind() {
                "file_redirect" | "herestring_redirect" => redirects.extend(self.redirect(child)),
                "variable_assignment" => {}
                "command_name" => words.push(child.named_child(0).map_or_else(Word::default, |name| self.word(name))),
                _ if child.is_named() => words.push(self.word(child)),
                _ => {}
            }
        }
        self.push(Command { words, redirects, fed_by: fed_by.to_vec(), segment, here_text, is_inner: false });
        self.substitutions(node, segment)
    }

    fn push(&mut self, mut command: Command) {
        if let Some(outer) = self.outer {
            command.segment = outer;
        }
        command.is_inner |= self.depth > 0;
        self.script.commands.push(command);
    }

    fn segment(&mut self, node: Node<'_>, joined_by: &str) -> usize {
        self.script.segments.push(Segment { joined_by: joined_by.to_owned(), text: self.of(node) });
        self.script.segments.len() - 1
    }

    /// Commands inside others, wherever they stand.
    fn substitutions(&mut self, node: Node<'_>, segment: usize) -> Result<(), Unread> {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).collect::<Vec<_>>() {
            if matches!(child.kind(), "command_substitution" | "process_substitution") {
                let mut inner = Script::default();
                let mut reader = Reader {
                    text: self.text,
                    script: &mut inner,
                    depth: self.depth + 1,
                    outer: Some(self.outer.unwrap_or(segment)),
                };
                reader.statements(child, "$(")?;
                self.script.commands.extend(inner.commands);
            } else {
                self.substitutions(child, segment)?;
            }
        }
        Ok(())
    }

    /// What a word says, as far as the text tells.
    fn word(&self, node: Node<'_>) -> Word {
        let mut word = Word::default();
        self.word_into(node, &mut word);
        let text = self.of(node);
        let plain = !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        // Quotes or escapes that a plain word does not need, inside it.
        let inside = text.trim_matches(|c| c == '"' || c == '\'');
        word.is_masked |= plain && !word.is_made && (inside.contains(['\'', '"']) || inside.contains('\\'));
        word
    }

    fn word_into(&self, node: Node<'_>, word: &mut Word) {
        match node.kind() {
            "word" | "number" | "test_operator" | "regex" => {
                let text = self.of(node);
                word.is_made |= text.contains(['*', '?']) || text.starts_with('~');
                word.text.push_str(&unescaped(&text));
            }
            "raw_string" => word.text.push_str(self.of(node).trim_start_matches('\'').trim_end_matches('\'')),
            "ansi_c_string" => {
                word.is_masked = true;
                let text = self.of(node);
                word.text.push_str(&decoded(text.trim_start_matches("$'").trim_end_matches('\'')));
            }
            "string_content" => word.text.push_str(&self.of(node)),
            "string" | "concatenation" | "translated_string" | "command_name" => {
                let mut cursor = node.walk();
                for child in node.children(&mut cursor) {
                    if child.is_named() {
                        self.word_into(child, word);
                    } else if node.kind() == "concatenation" || !matches!(child.kind(), "\"" | "$") {
                        word.text.push_str(&self.of(child));
                    }
                }
            }
            "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "extglob_pattern" => {
                word.is_made = true;
                word.text.push_str(&self.of(node));
            }
            _ => word.text.push_str(&self.of(node)),
        }
    }
}

fn is_statement(kind: &str) -> bool {
    matches!(
        kind,
        "command"
            | "redirected_statement"
            | "pipeline"
            | "list"
            | "compound_statement"
            | "subshell"
            | "do_group"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "for_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "case_item"
            | "negated_command"
            | "function_definition"
            | "declaration_command"
            | "variable_assignment"
            | "variable_assignments"
            | "unset_command"
            | "test_command"
    )
}
