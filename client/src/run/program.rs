//! Script or command: a script is a text file that is not found as a program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Script,
    Command,
}

/// What the first word is. A word without a slash that `PATH` knows is a command.
pub(super) fn kind(word: &OsStr, search: Option<&OsStr>) -> Kind {
    if !word.as_bytes().contains(&b'/') && in_path(word, search) {
        return Kind::Command;
    }
    if is_text(Path::new(word)) { Kind::Script } else { Kind::Command }
}

/// Whether nothing could run under this name. What only a shell can tell (built-ins, whole command lines) is left to it.
pub(super) fn is_missing(word: &OsStr, through_shell: bool, search: Option<&OsStr>) -> bool {
    /// Built-in commands and reserved words of the usual shells.
    const SHELL_WORDS: &str = ". : alias bg bind break builtin case cd command continue declare dirs do done echo \
        elif else enable esac eval exec exit export false fc fg fi for function getopts hash help history if jobs \
        kill let local logout popd printf printenv pushd pwd read readonly repeat return select set setenv shift \
        shopt source switch test then time times trap true type typeset ulimit umask unalias unset until wait while";
    let bytes = word.as_bytes();
    if through_shell {
        let is_plain =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+%,@".contains(byte) || *byte >= 0x80;
        if !bytes.iter().all(is_plain)
            || SHELL_WORDS.split_whitespace().any(|known| known.as_bytes() == bytes)
        {
            return false;
        }
    }
    if bytes.contains(&b'/') { !Path::new(word).exists() } else { !in_path(word, search) }
}

/// Whether a shell that gets the word unquoted makes something else of it.
pub(super) fn is_special(word: &OsStr) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+%,@=:".contains(byte) || *byte >= 0x80;
    word.is_empty() || !word.as_bytes().iter().all(is_plain)
}

/// A relative path as it is meant here: the job runs somewhere else.
pub(super) fn absolute(word: &OsStr) -> OsString {
    if word.as_bytes().contains(&b'/') && Path::new(word).exists() {
        return std::path::absolute(word).map_or_else(|_| word.to_owned(), Into::into);
    }
    word.to_owned()
}

fn in_path(word: &OsStr, search: Option<&OsStr>) -> bool {
    let search = search.unwrap_or(OsStr::new("/usr/local/bin:/bin:/usr/bin"));
    std::env::split_paths(search).any(|dir| {
        std::fs::metadata(dir.join(word))
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    })
}

/// A regular file that can be read and does not begin like a program or other binary data.
fn is_text(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1024).read_to_end(&mut head));
    read.is_ok() && !head.starts_with(b"\x7fELF") && !head.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_files_are_scripts_and_programs_are_commands() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let file = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, content).expect("written");
            path.into_os_string()
        };
        let search = Some(OsStr::new("/usr/bin:/bin"));
        assert_eq!(kind(&file("job.sh", b"echo\n"), search), Kind::Script);
        assert_eq!(kind(&file("empty", b""), search), Kind::Script);
        assert_eq!(kind(&file("program", b"\x7fELF..."), search), Kind::Command);
        assert_eq!(kind(&file("data", b"a\0b"), search), Kind::Command);
        assert_eq!(kind(dir.path().as_os_str(), search), Kind::Command);
        assert_eq!(kind(OsStr::new("sleep"), search), Kind::Command);
    }

    #[test]
    fn only_what_nobody_could_run_is_missing() {
        let search = Some(OsStr::new("/usr/bin:/bin"));
        for (word, through_shell, expected) in [
            ("sleep", true, false),
            ("sleep", false, false),
            ("ulimit", true, false),
            ("no-such-program-here", true, true),
            ("echo a; echo b", true, false),
            ("echo a; echo b", false, true),
            ("X=1", true, false),
            ("./no-such-script.sh", true, true),
            ("/bin/sh", false, false),
        ] {
            assert_eq!(is_missing(word.as_ref(), through_shell, search), expected, "{word}");
        }
    }
}
