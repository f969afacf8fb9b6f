//! One command as the shell would start it.

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    /// What the program gets, as far as that stands in the text.
    pub text: String,
    /// Part of it is made by the shell when it runs (a variable, another command's output, a pattern of file names).
    pub is_made: bool,
    /// It is spelled in a way that hides what it says: quotes or escapes inside a plain word, codes for letters.
    pub is_masked: bool,
}

/// Where output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// `>`, `>>`, `>|`, `&>`, `<`, `<<<`, …
    pub operator: String,
    /// The file.
    pub target: Word,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Command {
    /// Its words: the program first.
    pub words: Vec<Word>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// The program whose output it reads, where it stands behind a pipe.
    pub fed_by: Vec<String>,
    /// It stands inside another command (`$(…)`, `<(…)`), or in text given to a shell.
    pub is_inner: bool,
    /// The segment it belongs to.
    pub segment: usize,
    /// Its text is given to a program that reads it (`<<EOF`).
    pub here_text: Option<String>,
}

impl Command {
    /// The program's bare name: without its folder.
    pub(crate) fn program(&self) -> &str {
        let name = self.words.first().map_or("", |word| word.text.as_str());
        name.rsplit('/').next().unwrap_or(name)
    }

    /// What stands behind the program.
    pub(crate) fn args(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(|word| word.text.as_str())
    }

    /// The sub-command of programs that have such, past options and their values (`git -C x push`).
    pub(crate) fn sub(&self) -> &str {
        const WITH_VALUE: &[&str] =
            &["-C", "-c", "-n", "--git-dir", "--work-tree", "--namespace", "--context", "--prefix", "--manifest-path"];
        let mut args = self.args();
        while let Some(arg) = args.next() {
            if WITH_VALUE.contains(&arg) {
                args.next();
            } else if !arg.starts_with(['-', '+']) {
                return arg;
            }
        }
        ""
    }

    /// Whether one of its short or long options is among these (`-rf` holds `-r` and `-f`).
    pub(crate) fn has_option(&self, options: &[&str]) -> bool {
        self.args().any(|arg| {
            options.iter().any(|option| {
                arg == *option
                    || (option.starts_with("--") && arg.starts_with(&format!("{option}=")))
                    || match (arg.strip_prefix('-'), option.strip_prefix('-')) {
                        (Some(letters), Some(letter)) => {
                            letter.len() == 1 && !letters.starts_with('-') && letters.contains(letter)
                        }
                        _ => false,
                    }
            })
        })
    }

    /// Its words as one line.
    pub(crate) fn line(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}
