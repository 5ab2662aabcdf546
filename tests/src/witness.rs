//! A job script that tells what it sees, and the reader of what it told.

use std::collections::BTreeMap;
use std::fmt;

/// Prints `key<TAB>value` lines about the process it runs in and its surroundings.
pub const SCRIPT: &str = include_str!("witness.sh");

/// What one witness told.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Witness {
    lines: Vec<(String, String)>,
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|(key, value)| write!(f, "\n  {key}: {value}"))
    }
}

impl Witness {
    /// Reads the lines of a witness, in the order they were printed.
    pub fn parse(text: &str) -> Self {
        let pair = |line: &str| line.split_once('\t').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self { lines: text.lines().filter_map(pair).collect() }
    }

    /// Reads several witnesses that wrote to one file, one after the other.
    pub fn parse_all(text: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for (key, value) in Self::parse(text).lines {
            if key == "argv0" {
                found.push(Self::default());
            }
            if let Some(last) = found.last_mut() {
                last.lines.push((key, value));
            }
        }
        found
    }

    /// The value of a key that is told once.
    #[track_caller]
    pub fn get(&self, key: &str) -> &str {
        match self.all(key)[..] {
            [value] => value,
            ref values => panic!("the witness told `{key}` {} times: {self:#?}", values.len()),
        }
    }

    /// All values of a key.
    pub fn all(&self, key: &str) -> Vec<&str> {
        self.lines.iter().filter(|(known, _)| known == key).map(|(_, value)| value.as_str()).collect()
    }

    /// The soft and hard value of a limit, by its name in `/proc/self/limits`.
    #[track_caller]
    pub fn limit(&self, name: &str) -> (String, String) {
        let line = self.get(&format!("limit {name}"));
        let mut values = line.split_whitespace().map(str::to_owned);
        let mut next = || values.next().unwrap_or_else(|| panic!("a value of `{name}` in `{line}`"));
        (next(), next())
    }

    /// The variables the job has.
    pub fn environment(&self) -> BTreeMap<&str, &str> {
        self.all("env").into_iter().filter_map(|pair| pair.split_once('=')).collect()
    }

    /// The witness with what differs from run to run replaced: `names` are values and what to call them. The control
    /// groups are left out: the stock programs leave a job where they are, ours gives it one of its own.
    pub fn normalised(&self, names: &[(&str, &str)]) -> Vec<String> {
        let pid = self.all("pid").first().copied().unwrap_or("?").to_owned();
        let same = |value: &str| {
            let value = names.iter().fold(value.to_owned(), |text, (value, name)| text.replace(value, name));
            value
                .split(' ')
                .map(|word| if word == pid { "<pid>" } else { word })
                .collect::<Vec<_>>()
                .join(" ")
        };
        let told = self.lines.iter().filter(|(key, _)| key != "cgroup");
        let mut lines: Vec<String> = told.map(|(key, value)| format!("{key}\t{}", same(value))).collect();
        // The order of variables is nobody's contract.
        lines.sort();
        lines
    }
}
