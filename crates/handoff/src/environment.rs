//! The `environment` file: one `NAME=value` a line; in values a backslash is `\\` and a newline is `\n`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The variables of a job in the order of the file. A later setting of a name replaces an earlier one in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a file's content. Lines without `=` and names that are empty cannot be variables and are left out;
    /// so is what follows a NUL byte of a value, which no process can be given.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        // Where a name is already; a user may bring a hundred thousand of them, and root reads this file.
        let mut places: BTreeMap<&[u8], usize> = BTreeMap::new();
        for line in text.split(|byte| *byte == b'\n') {
            let Some(at) = line.iter().position(|byte| *byte == b'=') else { continue };
            let (name, value) = (&line[..at], up_to_nul(unescape(&line[at + 1..])));
            if !is_name(name) {
                continue;
            }
            match places.get(name) {
                Some(place) => variables[*place].1 = value,
                None => {
                    places.insert(name, variables.len());
                    variables.push((OsStr::from_bytes(name).to_owned(), value));
                }
            }
        }
        Self { variables }
    }

    /// Sets a variable. Names that are empty or contain `=`, a newline or a NUL byte are not variables: they are ignored.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl Into<OsString>) {
        let name = name.as_ref();
        if !is_name(name.as_bytes()) {
            return;
        }
        let value = up_to_nul(value.into().into_vec());
        match self.variables.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = value,
            None => self.variables.push((name.to_owned(), value)),
        }
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        self.variables.retain(|(other, _)| other != name.as_ref());
    }

    /// Keeps the variables for which the test holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&OsStr, &OsStr) -> bool) {
        self.variables.retain(|(name, value)| keep(name, value));
    }

    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.iter().find(|(other, _)| other == name.as_ref()).map(|(_, value)| value.as_os_str())
    }

    /// All variables in order.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (name, value) in &self.variables {
            text.extend_from_slice(name.as_bytes());
            text.push(b'=');
            for byte in value.as_bytes() {
                match byte {
                    b'\\' => text.extend_from_slice(b"\\\\"),
                    b'\n' => text.extend_from_slice(b"\\n"),
                    other => text.push(*other),
                }
            }
            text.push(b'\n');
        }
        text
    }
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(|byte| matches!(byte, b'=' | b'\n' | 0))
}

/// A value as far as a process can be given it.
fn up_to_nul(mut value: Vec<u8>) -> OsString {
    if let Some(nul) = value.iter().position(|byte| *byte == 0) {
        value.truncate(nul);
    }
    OsString::from_vec(value)
}

/// `\\` and `\n` are the two escapes; any other backslash stands for itself.
fn unescape(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    loop {
        rest = match rest {
            [b'\\', b'\\', tail @ ..] => {
                out.push(b'\\');
                tail
            }
            [b'\\', b'n', tail @ ..] => {
                out.push(b'\n');
                tail
            }
            [byte, tail @ ..] => {
                out.push(*byte);
                tail
            }
            [] => return out,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str) -> String {
        let environment = Environment::parse(line.as_bytes());
        environment.get("B").expect("set").to_str().expect("UTF-8").to_owned()
    }

    #[test]
    fn backslash_and_newline_are_escaped_and_nothing_else() {
        // spec row 21
        assert_eq!(value("B=x\\\\ty\n"), "x\\ty");
        assert_eq!(value("B=l1\\nl2\n"), "l1\nl2");
        assert_eq!(value("B=\\q\\\n"), "\\q\\");
        assert_eq!(value("B=a=b\n"), "a=b");
        assert_eq!(value("B=\n"), "");
        assert_eq!(value("B=1\nB=2\n"), "2");
    }

    #[test]
    fn many_variables_are_read_in_time() {
        // Minutes if each name were compared with all before it (8 s for 50,000 in a release build).
        let text: String = (0..200_000).map(|n| format!("V{n}=x\nV{}=y\n", n / 2)).collect();
        let environment = Environment::parse(text.as_bytes());
        assert_eq!(environment.iter().count(), 200_000);
        assert_eq!(environment.get("V7").expect("set"), "y");
        assert_eq!(environment.iter().nth(7).expect("in its place").0, "V7");
    }

    #[test]
    fn lines_that_are_no_variable_are_left_out() {
        let environment = Environment::parse(b"junk\n=x\n\nA=1\n");
        assert_eq!(environment.iter().count(), 1);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut environment = Environment::new();
        environment.set("ML", "l1\nl2\\n3");
        environment.set("Q", OsString::from_vec(vec![0xff, b'\\']));
        assert_eq!(environment.text(), b"ML=l1\\nl2\\\\n3\nQ=\xff\\\\\n");
        assert_eq!(Environment::parse(&environment.text()), environment);
    }
}
