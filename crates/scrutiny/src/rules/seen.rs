//! A command as the rules look at it.

use crate::{
    paths,
    shell::{Command, is_shell},
};

/// What a rule sees.
pub(crate) struct Seen<'a> {
    /// The command with its wrappers (`sudo`, `env`, …) taken off.
    pub bare: &'a Command,
    /// The command as it stands.
    pub whole: &'a Command,
    /// The folder the work is in, where that is known.
    pub workspace: Option<&'a str>,
}

/// Where output is thrown away, or goes to the person.
pub(super) fn is_sink(target: &str) -> bool {
    matches!(target, "/dev/null" | "/dev/stderr" | "/dev/stdout" | "/dev/tty")
        || target.chars().all(|c| c.is_ascii_digit() || c == '-')
}

/// Whether a word names a place on another computer.
pub(super) fn is_remote(word: &str) -> bool {
    !word.starts_with('-')
        && (word.contains("://") || word.split_once(':').is_some_and(|(host, _)| host.len() > 1 && !host.contains('/')))
}

impl Seen<'_> {
    pub(super) fn program(&self) -> &str {
        self.bare.program()
    }

    pub(super) fn is(&self, programs: &[&str]) -> bool {
        let program = self.program();
        programs.iter().any(|known| {
            program == *known || program.strip_suffix(".exe").is_some_and(|bare| bare.eq_ignore_ascii_case(known))
        })
    }

    pub(super) fn sub(&self, subs: &[&str]) -> bool {
        subs.contains(&self.bare.sub())
    }

    pub(super) fn arg(&self, wanted: &[&str]) -> bool {
        self.bare.args().any(|arg| wanted.contains(&arg))
    }

    pub(super) fn word_any(&self, wanted: &[&str]) -> bool {
        self.arg(wanted)
    }

    pub(super) fn word_where(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.bare.args().any(fits)
    }

    /// Whether its text holds one of these, in any case.
    pub(super) fn says_any(&self, wanted: &[&str]) -> bool {
        let mut line = self.whole.line().to_lowercase();
        for redirect in &self.whole.redirects {
            line.push(' ');
            line.push_str(&redirect.target.text.to_lowercase());
        }
        wanted.iter().any(|wanted| line.contains(&wanted.to_lowercase()))
    }

    pub(super) fn fed_by(&self, programs: &[&str]) -> bool {
        self.whole.fed_by.iter().any(|from| programs.contains(&from.as_str()))
    }

    pub(super) fn wrapped_in(&self, wrappers: &[&str]) -> bool {
        let outer = self.whole.words.iter().take(self.whole.words.len() - self.bare.words.len() + 1);
        outer.map(|word| word.text.rsplit('/').next().unwrap_or("")).any(|name| wrappers.contains(&name))
    }

    pub(super) fn is_interpreter(&self) -> bool {
        let program = self.program();
        let known = [
            "python",
            "python3",
            "node",
            "deno",
            "bun",
            "ruby",
            "perl",
            "php",
            "lua",
            "Rscript",
            "osascript",
            "java",
            "awk",
            "gawk",
            "tclsh",
            "expect",
            "julia",
            "elixir",
            "ghci",
            "scala",
        ];
        is_shell(program)
            || known.contains(&program) && !(program == "awk" || program == "gawk")
            || program.strip_prefix("python").is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
            || matches!(program, "powershell" | "pwsh" | "cmd" | "wscript" | "cscript" | "mshta")
    }

    /// It runs the text it is given.
    pub(super) fn runs_text(&self) -> bool {
        self.is_interpreter() || self.is(&["source", ".", "eval", "xargs"])
    }

    /// An HTTP client that sends something.
    pub(super) fn sends_body(&self) -> bool {
        let long = [
            "--data",
            "--data-binary",
            "--data-raw",
            "--data-urlencode",
            "--form",
            "--upload-file",
            "--json",
            "--post-data",
            "--post-file",
            "--body-data",
            "--body-file",
            "--method",
            "--request",
        ];
        self.word_where(|word| long.iter().any(|option| word == *option || word.starts_with(&format!("{option}="))))
            || self.is(&["curl"]) && (self.bare.has_option(&["-d", "-F", "-T"]) || self.method_is_not_get())
            || self
                .bare
                .args()
                .any(|arg| arg.contains("://") && self.bare.words.iter().any(|word| word.text == arg && word.is_made))
    }

    pub(super) fn method_is_not_get(&self) -> bool {
        let mut args = self.bare.args();
        while let Some(arg) = args.next() {
            if arg == "-X" {
                return !matches!(args.next(), Some("GET" | "HEAD"));
            }
        }
        false
    }

    pub(super) fn redirects_where(&self, fits: impl Fn(&str, &str) -> bool) -> bool {
        self.whole.redirects.iter().any(|redirect| fits(&redirect.operator, &redirect.target.text))
    }

    /// What it names: its words that can be paths, and what it is redirected to or from.
    pub(super) fn targets(&self) -> impl Iterator<Item = &str> {
        let words = self.bare.args().filter(|arg| !arg.contains("://") && !arg.contains('\n')).map(|arg| {
            let value = arg
                .split_once('=')
                .filter(|(name, _)| name.starts_with('-') || !name.contains('/'))
                .map_or(arg, |(_, value)| value);
            value.strip_prefix('@').unwrap_or(value)
        });
        words.chain(self.whole.redirects.iter().map(|redirect| redirect.target.text.as_str()))
    }

    pub(super) fn targets_where(&self, fits: impl Fn(&str) -> bool) -> bool {
        let is_text = self.is(&["echo", "printf"]);
        if is_text {
            return self.whole.redirects.iter().any(|redirect| fits(&redirect.target.text));
        }
        self.targets().any(fits)
    }

    pub(super) fn target_outside(&self) -> bool {
        self.targets_where(|path| is_path(path) && paths::is_outside(path, self.workspace))
    }

    /// Paths it writes: where its output goes, and what the programs that write are given.
    pub(super) fn writes_where(&self, fits: impl Fn(&str) -> bool) -> bool {
        let redirected = self.redirects_where(|operator, target| operator.contains('>') && fits(target));
        let writes =
            self.is(&["cp", "mv", "install", "ln", "tee", "touch", "mkdir", "sed", "dd", "tar", "unzip", "rsync"]);
        let last = || self.bare.args().filter(|arg| !arg.starts_with('-')).last().is_some_and(&fits);
        redirected || writes && if self.is(&["tee", "touch", "mkdir"]) { self.targets().any(&fits) } else { last() }
    }

    pub(super) fn tar_mode(&self, mode: char) -> bool {
        self.bare.args().next().is_some_and(|first| !first.starts_with("--") && first.contains(mode))
            || self.bare.has_option(&["--extract"])
    }
}

/// Whether a word is meant as a path: it begins like one, or climbs.
fn is_path(word: &str) -> bool {
    word.starts_with('/')
        || word.starts_with('~')
        || word.starts_with("..")
        || word.contains("/../")
        || word.starts_with("$HOME")
        || word.starts_with("${HOME}")
}
