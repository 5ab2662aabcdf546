//! What a job asks for, in the words of qsub(1): from the command line and from the `#$` lines of the script.

/// Where an option stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    CommandLine,
    /// A `#$` line of the script; lines are counted from 1.
    Script {
        line: u32,
    },
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CommandLine => f.write_str("command line"),
            Self::Script { line } => write!(f, "script line {line}"),
        }
    }
}

/// An option's value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set<T> {
    pub value: T,
    pub given: Given,
}

/// `-cwd` or `-wd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// The directory the job is submitted from.
    Current,
    Path(String),
}

/// `-pe NAME SLOTS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parallel {
    pub name: String,
    /// At least 1. Of a range the lower end: nobody waits for slots here.
    pub slots: u32,
}

/// The options that are honoured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `-S`
    pub shell: Option<Set<String>>,
    /// `-N`
    pub name: Option<Set<String>>,
    /// `-o`, a list of `[host:]path`
    pub stdout: Option<Set<String>>,
    /// `-e`
    pub stderr: Option<Set<String>>,
    /// `-i`
    pub stdin: Option<Set<String>>,
    /// `-j`
    pub merge: Option<Set<bool>>,
    /// `-cwd`, `-wd`
    pub working_directory: Option<Set<WorkingDirectory>>,
    /// `-l`: names and values; a later one wins.
    pub resources: Vec<Set<(String, String)>>,
    /// `-notify`
    pub notify: Option<Set<()>>,
    /// `-v`: a name without a value is taken from the environment.
    pub variables: Vec<Set<(String, Option<String>)>>,
    /// `-V`
    pub all_variables: Option<Set<()>>,
    /// `-b`
    pub binary: Option<Set<bool>>,
    /// `-shell`
    pub use_shell: Option<Set<bool>>,
    /// `-pe`
    pub parallel: Option<Set<Parallel>>,
}

/// An option that is legal and has no meaning for a job that starts at once on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// With its dash, and for `-l` with the resource: `-q`, `-l mem_free`.
    pub option: String,
    pub given: Given,
}

/// An option that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("{given}: option `{option}` needs {expected}")]
    MissingValue { given: Given, option: String, expected: &'static str },
    #[error("{given}: option `{option}`: expected {expected}, found `{found}`")]
    Value { given: Given, option: String, expected: &'static str, found: String },
    #[error("{given}: unknown option `{option}`")]
    Unknown { given: Given, option: String },
    #[error("{given}: expected an option, found `{word}`")]
    NoOption { given: Given, word: String },
    #[error("{given}: {source}")]
    Words { given: Given, source: crate::words::WordsError },
}

/// Options of qsub that are understood and ignored, with the number of their arguments.
const IGNORED: [(&str, usize); 39] = [
    ("-a", 1),
    ("-A", 1),
    ("-ac", 1),
    ("-ar", 1),
    ("-binding", 1),
    ("-c", 1),
    ("-ckpt", 1),
    ("-clear", 0),
    ("-dc", 1),
    ("-display", 1),
    ("-dl", 1),
    ("-h", 0),
    ("-hard", 0),
    ("-help", 0),
    ("-hold_jid", 1),
    ("-hold_jid_ad", 1),
    ("-inherit", 0),
    ("-js", 1),
    ("-jsv", 1),
    ("-m", 1),
    ("-M", 1),
    ("-masterq", 1),
    ("-now", 1),
    ("-ot", 1),
    ("-p", 1),
    ("-P", 1),
    ("-pty", 1),
    ("-q", 1),
    ("-r", 1),
    ("-R", 1),
    ("-sc", 1),
    ("-soft", 0),
    ("-sync", 1),
    ("-t", 1),
    ("-tc", 1),
    ("-terse", 0),
    ("-verify", 0),
    ("-w", 1),
    ("-C", 1),
];

impl Options {
    /// Reads the words of one line. What is legal and has no meaning here goes to `ignored`.
    ///
    /// # Errors
    /// The first option that is unknown, has no value or one that means nothing.
    pub fn read(
        &mut self,
        words: &[String],
        given: Given,
        ignored: &mut Vec<Ignored>,
    ) -> Result<(), OptionError> {
        let mut words = words.iter();
        let mut soft = false;
        while let Some(option) = words.next() {
            let mut value = |expected| {
                words.next().cloned().ok_or_else(|| OptionError::MissingValue {
                    given,
                    option: option.clone(),
                    expected,
                })
            };
            match option.as_str() {
                "-S" => self.shell = set(given, value("a path")?),
                "-N" => self.name = set(given, job_name(given, value("a job name")?)?),
                "-o" => self.stdout = set(given, value("a path")?),
                "-e" => self.stderr = set(given, value("a path")?),
                "-i" => self.stdin = set(given, value("a path")?),
                "-j" => self.merge = set(given, yes_no(given, option, &value("y or n")?)?),
                "-b" => self.binary = set(given, yes_no(given, option, &value("y or n")?)?),
                "-shell" => self.use_shell = set(given, yes_no(given, option, &value("y or n")?)?),
                "-cwd" => self.working_directory = set(given, WorkingDirectory::Current),
                "-wd" => self.working_directory = set(given, WorkingDirectory::Path(value("a directory")?)),
                "-notify" => self.notify = set(given, ()),
                "-V" => self.all_variables = set(given, ()),
                "-v" => self.variables.extend(variables(given, &value("NAME[=VALUE],…")?)),
                "-l" => {
                    let resources = resources(given, &value("NAME=VALUE,…")?)?;
                    if soft {
                        let named = |(name, _)| Ignored { option: format!("-soft -l {name}"), given };
                        ignored.extend(resources.into_iter().map(|set| named(set.value)));
                    } else {
                        self.resources.extend(resources);
                    }
                }
                "-pe" => {
                    let (name, slots) = (value("a name and slots")?, value("a name and slots")?);
                    self.parallel = set(given, Parallel { name, slots: slot_range(given, &slots)? });
                }
                "-soft" => soft = true,
                "-hard" => soft = false,
                other => {
                    let Some((_, arguments)) = IGNORED.iter().find(|(name, _)| *name == other) else {
                        let option = option.clone();
                        return Err(if option.starts_with('-') && option != "-" {
                            OptionError::Unknown { given, option }
                        } else {
                            OptionError::NoOption { given, word: option }
                        });
                    };
                    for _ in 0..*arguments {
                        value("a value")?;
                    }
                    ignored.push(Ignored { option: option.clone(), given });
                }
            }
        }
        Ok(())
    }

    /// Sets one variable, as `-v` does, whatever characters its value has.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        let value = (name.to_owned(), Some(value.to_owned()));
        self.variables.push(Set { value, given: Given::CommandLine });
    }

    /// These options where given, `base` elsewhere. Lists are joined, ours last, so that ours win.
    #[must_use]
    pub fn over(self, mut base: Self) -> Self {
        base.resources.extend(self.resources);
        base.variables.extend(self.variables);
        Self {
            shell: self.shell.or(base.shell),
            name: self.name.or(base.name),
            stdout: self.stdout.or(base.stdout),
            stderr: self.stderr.or(base.stderr),
            stdin: self.stdin.or(base.stdin),
            merge: self.merge.or(base.merge),
            working_directory: self.working_directory.or(base.working_directory),
            resources: base.resources,
            notify: self.notify.or(base.notify),
            variables: base.variables,
            all_variables: self.all_variables.or(base.all_variables),
            binary: self.binary.or(base.binary),
            use_shell: self.use_shell.or(base.use_shell),
            parallel: self.parallel.or(base.parallel),
        }
    }
}

// The result is what an option's field holds.
#[allow(clippy::unnecessary_wraps)]
fn set<T>(given: Given, value: T) -> Option<Set<T>> {
    Some(Set { value, given })
}

fn yes_no(given: Given, option: &str, text: &str) -> Result<bool, OptionError> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err(OptionError::Value {
            given,
            option: option.to_owned(),
            expected: "`y` or `n`",
            found: text.to_owned(),
        }),
    }
}

/// The rules of qsub(1) for job names.
fn job_name(given: Given, text: String) -> Result<String, OptionError> {
    let forbidden = |c: char| c.is_control() || "\n\t\r/:@\\*?".contains(c);
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) || text.contains(forbidden) {
        let expected = "a name that does not start with a digit and has none of `/ : @ \\ * ?`";
        return Err(OptionError::Value { given, option: "-N".to_owned(), expected, found: text });
    }
    Ok(text)
}

fn resources(given: Given, list: &str) -> Result<Vec<Set<(String, String)>>, OptionError> {
    let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let parsed: Vec<_> = entries
        .map(|entry| {
            // A name alone asks for a boolean that is true (qsub(1)).
            let (name, value) = entry.split_once('=').unwrap_or((entry, "TRUE"));
            Set { value: (name.trim().to_owned(), value.trim().to_owned()), given }
        })
        .collect();
    if parsed.is_empty() || parsed.iter().any(|set| set.value.0.is_empty() || set.value.1.is_empty()) {
        let found = list.to_owned();
        return Err(OptionError::Value { given, option: "-l".to_owned(), expected: "NAME=VALUE,…", found });
    }
    Ok(parsed)
}

fn variables(given: Given, list: &str) -> Vec<Set<(String, Option<String>)>> {
    list.split(',')
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let value = match entry.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (entry.to_owned(), None),
            };
            Set { value, given }
        })
        .collect()
}

/// `n`, `n-m`, `n-`, `-m`, and lists of them: the smallest number that is allowed.
fn slot_range(given: Given, text: &str) -> Result<u32, OptionError> {
    let lowest = |part: &str| match part.split_once('-') {
        None => part.parse().ok(),
        Some(("", high)) => high.parse::<u32>().ok().map(|high| high.min(1)),
        Some((low, "")) => low.parse().ok(),
        Some((low, high)) => {
            let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
            Some(low.min(high))
        }
    };
    let numbers: Option<Vec<u32>> = text.split(',').map(|part| lowest(part.trim())).collect();
    numbers
        .and_then(|all| all.into_iter().min())
        .filter(|number| (1..=9_999_999).contains(number))
        .ok_or_else(|| OptionError::Value {
            given,
            option: "-pe".to_owned(),
            expected: "a number of slots from 1 to 9999999, or a range",
            found: text.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Options, Vec<Ignored>), OptionError> {
        let words = crate::words::split(line).expect("words");
        let (mut options, mut ignored) = (Options::default(), Vec::new());
        options.read(&words, Given::Script { line: 2 }, &mut ignored)?;
        Ok((options, ignored))
    }

    #[test]
    fn errors_say_where_and_what() {
        for (line, expected) in [
            ("-N", "script line 2: option `-N` needs a job name"),
            ("-j maybe", "script line 2: option `-j`: expected `y` or `n`, found `maybe`"),
            ("-zz", "script line 2: unknown option `-zz`"),
            ("hello", "script line 2: expected an option, found `hello`"),
            ("-l h_rt=", "script line 2: option `-l`: expected NAME=VALUE,…, found `h_rt=`"),
            (
                "-pe smp 0",
                "script line 2: option `-pe`: expected a number of slots from 1 to 9999999, or a range, found `0`",
            ),
            (
                "-N 1a",
                "script line 2: option `-N`: expected a name that does not start with a digit and has none of \
                 `/ : @ \\ * ?`, found `1a`",
            ),
        ] {
            assert_eq!(read(line).expect_err(line).to_string(), expected);
        }
    }

    #[test]
    fn ranges_give_their_lower_end() {
        for (text, slots) in [("4", 4), ("2-4", 2), ("3-", 3), ("-8", 1), ("4,2", 2)] {
            let (options, _) = read(&format!("-pe smp {text}")).expect(text);
            assert_eq!(options.parallel.expect("set").value.slots, slots, "{text}");
        }
    }

    #[test]
    fn soft_requests_and_foreign_options_are_ignored_by_name() {
        let (options, ignored) =
            read("-q all.q -soft -l h_rt=1 -hard -l h_vmem=2G -m be -t 1-5").expect("legal");
        let names: Vec<_> = ignored.iter().map(|entry| entry.option.as_str()).collect();
        assert_eq!(names, ["-q", "-soft -l h_rt", "-m", "-t"]);
        assert_eq!(options.resources.len(), 1);
    }

    #[test]
    fn the_command_line_wins_over_the_script() {
        let (script, _) = read("-N a -l h_rt=1 -S /bin/sh").expect("legal");
        let (line, _) = read("-N b -l h_rt=2").expect("legal");
        let both = line.over(script);
        assert_eq!(both.name.expect("set").value, "b");
        assert_eq!(both.shell.expect("set").value, "/bin/sh");
        assert_eq!(both.resources.last().expect("set").value, ("h_rt".to_owned(), "2".to_owned()));
    }
}
