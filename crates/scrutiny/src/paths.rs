//! What a path tells by itself: secrets, places outside the workspace, places that run what is put there.

/// Names that hold secrets wherever they stand: a path's last part, or one of its folders.
const SECRET_NAMES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".docker",
    ".vault-token",
    ".htpasswd",
    ".password-store",
    ".terraformrc",
    "credentials",
    "credentials.json",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "shadow",
    "gshadow",
    "sudoers",
    "keyrings",
    "Keychains",
    "login.keychain-db",
    "Login Data",
    "Cookies",
    "cookies.sqlite",
    "key4.db",
    "logins.json",
    "wallet.dat",
    ".bash_history",
    ".zsh_history",
    "application_default_credentials.json",
];

/// Endings of files that hold keys.
const SECRET_ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks", ".ppk", ".asc"];

/// Files that are run by themselves when a shell, a desktop or the computer starts, or by git.
const STARTERS: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    "config.fish",
    ".xinitrc",
    ".xprofile",
    "authorized_keys",
    "crontab",
    "autostart",
    "LaunchAgents",
    "LaunchDaemons",
    "hooks",
    "systemd",
    "cron.d",
    "cron.daily",
    "init.d",
    "rc.local",
    "profile.d",
    ".gitconfig",
    ".envrc",
];

/// Folders of the system: what is changed there is changed for everybody.
const SYSTEM: &[&str] = &[
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
    "/opt",
    "/sys",
    "/proc",
    "/System",
    "/Library",
    "/Applications",
];

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty())
}

/// Whether what stands there is likely to be secret.
pub(crate) fn is_secret(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'']);
    let last = parts(path).next_back().unwrap_or("");
    let is_env = last == ".env" || (last.starts_with(".env.") && !is_sample(last)) || last == "/proc/self/environ";
    is_env
        || path.ends_with("/environ")
        || parts(path).any(|part| SECRET_NAMES.contains(&part))
        || (SECRET_ENDINGS.iter().any(|ending| last.ends_with(ending)) && last.len() > 4 && !last.ends_with(".pub"))
}

fn is_sample(name: &str) -> bool {
    [".example", ".sample", ".template", ".dist", ".test"].iter().any(|ending| name.ends_with(ending))
}

/// Whether what is put there runs by itself later.
pub(crate) fn is_starter(path: &str) -> bool {
    parts(path).any(|part| STARTERS.contains(&part))
}

/// Whether it belongs to the system.
pub(crate) fn is_system(path: &str) -> bool {
    SYSTEM.iter().any(|folder| path == *folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

/// Whether it is a device that a disk is behind.
pub(crate) fn is_disk(path: &str) -> bool {
    ["/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd", "/dev/mmcblk", "/dev/disk", "/dev/mapper"]
        .iter()
        .any(|disk| path.starts_with(disk))
}

/// Whether it lies outside the folder that the work is in. Relative paths start in that folder.
pub(crate) fn is_outside(path: &str, workspace: Option<&str>) -> bool {
    let path = path.trim_matches(['"', '\'']);
    if path.is_empty() || path.starts_with("/dev/") || path == "-" {
        return false;
    }
    if path.starts_with('~') || path.starts_with("$HOME") || path.starts_with("${HOME}") {
        return true;
    }
    let is_absolute = path.starts_with('/') || path.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/");
    if is_absolute {
        let Some(workspace) = workspace.map(|folder| folder.trim_end_matches('/')).filter(|folder| !folder.is_empty())
        else {
            return true;
        };
        let rest = path.strip_prefix(workspace);
        return !rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && !climbs_out(rest)));
    }
    climbs_out(path)
}

/// Whether `..` leads above where it starts.
fn climbs_out(path: &str) -> bool {
    let mut depth = 0_i32;
    for part in parts(path) {
        match part {
            "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for path in [
            "~/.ssh/id_rsa",
            ".env",
            "a/.env.local",
            "/etc/shadow",
            "~/.aws/credentials",
            "server.pem",
            "~/.netrc",
            "C:\\Users\\a\\.ssh\\id_ed25519",
            "/proc/1/environ",
        ] {
            assert!(is_secret(path), "{path}");
        }
        for path in
            [".env.example", "src/key.rs", "id_rsa.pub", "environment.md", "README.md", "keys/public.pub", ".key"]
        {
            assert!(!is_secret(path), "{path}");
        }
    }

    #[test]
    fn outside_is_where_the_workspace_ends() {
        for path in ["/etc/hosts", "~/x", "../x", "a/../../x", "/srv/app2/x", "/srv/app/../x", "$HOME/x"] {
            assert!(is_outside(path, Some("/srv/app")), "{path}");
        }
        for path in ["x", "./a/../b", "/srv/app", "/srv/app/src/x", "/dev/null", "a/b/../../c"] {
            assert!(!is_outside(path, Some("/srv/app")), "{path}");
        }
        assert!(is_outside("/x", None));
    }
}
