//! A shell command's risk: what each of its commands does, by the table.

use crate::{
    rules::{RULES, Seen, only_reads},
    shell::{self, Unread, unwrapped},
    tools::{Payload, name_words, whole},
    types::{Reason, Risk, RiskClass, RiskReason, risk_of},
};

/// Whether the text, or the tool that takes it, is for a shell that is not POSIX.
fn is_other_shell(tool: &str, command: &str) -> bool {
    let tool = tool.to_lowercase();
    if tool.contains("powershell")
        || tool.contains("pwsh")
        || name_words(&tool)
            .iter()
            .any(|word| matches!(word.as_str(), "cmd" | "batch" | "bat" | "fish" | "nu" | "nushell"))
    {
        return true;
    }
    let first = command.split_whitespace().next().unwrap_or("").to_lowercase();
    let first = first.rsplit(['/', '\\']).next().unwrap_or("").trim_end_matches(".exe");
    if matches!(
        first,
        "powershell"
            | "pwsh"
            | "cmd"
            | "wsl"
            | "del"
            | "erase"
            | "rd"
            | "copy"
            | "xcopy"
            | "robocopy"
            | "reg"
            | "icacls"
            | "takeown"
            | "schtasks"
            | "wmic"
            | "bcdedit"
            | "vssadmin"
            | "certutil"
            | "bitsadmin"
            | "iex"
            | "iwr"
            | "irm"
    ) {
        return true;
    }
    let is_cmdlet = |word: &str| {
        word.split_once('-').is_some_and(|(verb, noun)| {
            noun.chars().next().is_some_and(|c| c.is_ascii_uppercase())
                && matches!(
                    verb,
                    "Get"
                        | "Set"
                        | "New"
                        | "Remove"
                        | "Invoke"
                        | "Start"
                        | "Stop"
                        | "Copy"
                        | "Move"
                        | "Write"
                        | "Out"
                        | "Add"
                        | "Clear"
                        | "Import"
                        | "Export"
                        | "ConvertTo"
                        | "ConvertFrom"
                        | "Select"
                        | "Where"
                        | "ForEach"
                        | "Test"
                        | "Rename"
                        | "Enable"
                        | "Disable"
                        | "Install"
                        | "Uninstall"
                        | "Register"
                        | "Unregister"
                        | "Restart"
                        | "Expand"
                        | "Compress"
                )
        })
    };
    command.split(|c: char| c.is_whitespace() || matches!(c, '|' | ';' | '(' | '{' | '&')).any(is_cmdlet)
        || command.contains("$env:")
        || command.contains("$PSVersionTable")
        || command.to_lowercase().contains("%systemroot%")
        || command.to_lowercase().contains("%userprofile%")
        || command.to_lowercase().contains("%appdata%")
        || command.contains("[System.")
        || command.contains("[Convert]::")
}

pub(crate) fn judge_command(command: &str, payload: &Payload<'_>) -> Risk {
    if command.trim().is_empty() {
        return risk_of(vec![whole(RiskReason::Unparsed, RiskClass::Unknown, "")], Vec::new());
    }
    if is_other_shell(payload.tool.unwrap_or(""), command) {
        return risk_of(vec![whole(RiskReason::UnknownShell, RiskClass::Unknown, "")], Vec::new());
    }
    let script = match shell::read(command) {
        Ok(script) => script,
        Err(Unread::NoShell) => return risk_of(vec![whole(RiskReason::Unparsed, RiskClass::Unknown, "")], Vec::new()),
        Err(Unread::TooLong) => return risk_of(vec![whole(RiskReason::TooLong, RiskClass::Unknown, "")], Vec::new()),
    };
    let mut reasons = Vec::new();
    for command in &script.commands {
        let bare = unwrapped(command);
        let seen = Seen { bare: &bare, whole: command, workspace: payload.work_dir };
        let before = reasons.len();
        for rule in RULES.iter().filter(|rule| (rule.fits)(&seen)) {
            let about = one_line(&command.line());
            reasons.push(Reason {
                reason: rule.reason,
                class: rule.class,
                about,
                segment: Some(u32::try_from(command.segment).unwrap_or(u32::MAX)),
            });
        }
        let is_defined = |name: &str| {
            script
                .segments
                .iter()
                .any(|s| s.text.contains(&format!("{name}()")) || s.text.contains(&format!("{name} ()")))
        };
        if reasons.len() == before && !only_reads(command) && !is_defined(bare.program()) {
            reasons.push(Reason {
                reason: RiskReason::UnknownProgram,
                class: RiskClass::Medium,
                about: bare.program().to_owned(),
                segment: Some(u32::try_from(command.segment).unwrap_or(u32::MAX)),
            });
        }
    }
    risk_of(reasons, script.segments)
}

fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(120) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or(line)),
        None => line.to_owned(),
    }
}
