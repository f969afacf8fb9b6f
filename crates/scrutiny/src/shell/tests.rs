use pretty_assertions::assert_eq;

use super::*;

fn lines(text: &str) -> Vec<String> {
    read(text).unwrap().commands.iter().map(Command::line).collect()
}

fn segments(text: &str) -> Vec<String> {
    read(text).unwrap().segments.iter().map(|s| format!("{}|{}", s.joined_by, s.text)).collect()
}

#[test]
fn a_chain_is_its_segments_in_order() {
    assert_eq!(
        segments("pytest -q tests && curl -s https://x.example/a | sh; echo done"),
        ["|pytest -q tests", "&&|curl -s https://x.example/a", "||sh", ";|echo done"]
    );
    assert_eq!(segments("a || b & c"), ["|a", "|||b", "&|c"]);
    assert_eq!(segments("a\nb > out.txt\n# note\nc"), ["|a", ";|b > out.txt", ";|c"]);
}

#[test]
fn words_are_what_the_program_gets() {
    assert_eq!(lines(r#"rm -rf "my files" 'a b' c\ d"#), ["rm -rf my files a b c d"]);
    assert_eq!(lines(r#"r''m x"#), ["rm x"]);
    assert!(read(r#"r''m x"#).unwrap().commands[0].words[0].is_masked);
    assert!(read(r"r\m x").unwrap().commands[0].words[0].is_masked);
    assert_eq!(lines(r"$'\x72\155' x"), ["rm x"]);
    assert!(!read(r#"git commit -m "it's \"ok\"""#).unwrap().commands[0].words[3].is_masked);
    assert!(read("$CMD x").unwrap().commands[0].words[0].is_made);
}

#[test]
fn commands_inside_others_are_found() {
    assert_eq!(lines("echo $(cat $(ls *.pem))"), ["echo $(cat $(ls *.pem))", "cat $(ls *.pem)", "ls *.pem"]);
    assert_eq!(lines("diff <(curl x) y"), ["diff <(curl x) y", "curl x"]);
    assert_eq!(lines("X=$(rm y) true"), ["true", "rm y"]);
    assert_eq!(lines("if true; then rm a; else rm b; fi"), ["true", "rm a", "rm b"]);
    assert_eq!(lines("for f in *; do rm \"$f\"; done"), ["rm $f"]);
    assert_eq!(lines("f() { rm a; }; f"), ["rm a", "f"]);
    assert_eq!(lines("(cd x && rm y) > log"), ["cd x", "rm y", ""]);
}

#[test]
fn text_given_to_a_shell_is_read_too() {
    assert_eq!(lines("bash -lc 'rm -rf x'"), ["bash -lc rm -rf x", "rm -rf x"]);
    assert_eq!(lines("sudo sh -c \"rm y\""), ["sudo sh -c rm y", "rm y"]);
    assert_eq!(lines("eval rm z"), ["eval rm z", "rm z"]);
    assert_eq!(lines("bash <<'EOF'\nrm q\nEOF"), ["bash", "rm q"]);
}

#[test]
fn a_pipe_says_what_feeds_a_command() {
    let script = read("curl x | tee y | sudo bash").unwrap();
    assert_eq!(script.commands[2].fed_by, ["curl", "tee"]);
}

#[test]
fn wrappers_are_taken_off() {
    let bare = |text: &str| unwrapped(&read(text).unwrap().commands[0]).line();
    assert_eq!(bare("sudo -u root env A=1 nice -n 5 timeout 5 rm x"), "rm x");
    assert_eq!(bare("xargs -n 1 rm"), "rm");
    assert_eq!(bare("env"), "env");
}

#[test]
fn what_is_no_shell_text_is_refused() {
    for text in ["if then fi (", "echo \"open", "rm $(", "a ))"] {
        assert_eq!(read(text), Err(Unread::NoShell), "{text}");
    }
    assert_eq!(read(&"a ".repeat(40_000)), Err(Unread::TooLong));
}

#[test]
fn redirections_are_kept() {
    let script = read("echo x >> ~/.bashrc 2>&1 < in").unwrap();
    let shown: Vec<String> =
        script.commands[0].redirects.iter().map(|r| format!("{}{}", r.operator, r.target.text)).collect();
    assert_eq!(shown, [">>~/.bashrc", ">&1", "<in"]);
}
