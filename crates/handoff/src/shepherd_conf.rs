//! `/etc/oxherd/shepherd.conf`: the drop-in's switches below a stock execd, one `name value` a line.
//!
//! The file is used only if it and its directory belong to root and nobody else can write them. A broken line is a
//! trace line and the safe default, never a failed job.

use std::path::Path;

/// Where the file lies.
pub const PATH: &str = "/etc/oxherd/shepherd.conf";

/// The switches with their safe defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShepherdConf {
    /// `cgroup auto|none`: whether a cgroup v2 directory is made for each job.
    pub cgroup: bool,
    /// `terminate_escalation SECONDS`: KILL after a terminate_method without effect; 0 (default) never, as 8.1.9.
    pub terminate_escalation: u64,
    /// `method_timeout SECONDS` of suspend, resume and terminate methods; default 120.
    pub method_timeout: u64,
    /// `leftover_timeout SECONDS` after which processes that do not die are named; default 60.
    pub leftover_timeout: u64,
    /// `compat strict`, or single switches by name.
    pub compat: Vec<String>,
}

impl Default for ShepherdConf {
    fn default() -> Self {
        Self {
            cgroup: true,
            terminate_escalation: 0,
            method_timeout: 120,
            leftover_timeout: 60,
            compat: Vec::new(),
        }
    }
}

impl ShepherdConf {
    /// Reads a text; the second value has one sentence for each line that was not understood.
    #[must_use]
    pub fn parse(text: &str) -> (Self, Vec<String>) {
        let (mut conf, mut complaints) = (Self::default(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) =
                line.split_once(char::is_whitespace).map_or((line, ""), |(n, v)| (n, v.trim()));
            let seconds = |field: &mut u64| match value.parse() {
                Ok(number) => {
                    *field = number;
                    true
                }
                Err(_) => false,
            };
            let understood = match name {
                "cgroup" => match value {
                    "auto" => {
                        conf.cgroup = true;
                        true
                    }
                    "none" => {
                        conf.cgroup = false;
                        true
                    }
                    _ => false,
                },
                "terminate_escalation" => seconds(&mut conf.terminate_escalation),
                "method_timeout" => seconds(&mut conf.method_timeout),
                "leftover_timeout" => seconds(&mut conf.leftover_timeout),
                "compat" if !value.is_empty() => {
                    conf.compat.extend(value.split([',', ' ']).filter(|w| !w.is_empty()).map(str::to_owned));
                    true
                }
                _ => false,
            };
            if !understood {
                complaints
                    .push(format!("{PATH} line {}: `{line}` is not understood and has no effect", index + 1));
            }
        }
        (conf, complaints)
    }

    /// Reads [`PATH`]. A file that somebody else than root could have written is not used, and that is said.
    #[must_use]
    pub fn read() -> (Self, Vec<String>) {
        use std::io::Read;
        use std::os::unix::fs::MetadataExt;
        let path = Path::new(PATH);
        let Ok(mut file) = std::fs::File::open(path) else { return (Self::default(), Vec::new()) };
        let safe = |m: &std::fs::Metadata| m.uid() == 0 && m.mode() & 0o022 == 0;
        // The open file is looked at, not its name: nothing can take its place between the look and the reading.
        let file_safe = file.metadata().is_ok_and(|metadata| safe(&metadata));
        let directory_safe =
            path.parent().and_then(|dir| std::fs::metadata(dir).ok()).is_some_and(|m| safe(&m));
        if !file_safe || !directory_safe {
            let complaint =
                format!("{PATH} or its directory can be written by others than root and is not used");
            return (Self::default(), vec![complaint]);
        }
        let mut text = String::new();
        match file.read_to_string(&mut text) {
            Ok(_) => Self::parse(&text),
            Err(error) => (Self::default(), vec![format!("cannot read {PATH}: {error}")]),
        }
    }

    /// Whether a switch of docs/deviations.md is on.
    #[must_use]
    pub fn strict(&self, switch: &str) -> bool {
        self.compat.iter().any(|word| word == switch || word == "strict")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_is_named_and_the_default_stays() {
        let (conf, complaints) = ShepherdConf::parse(
            "# c\nmethod_timeout 5\ncgroup maybe\nterminate_escalation x\ncompat sigterm, strict\n",
        );
        assert_eq!(conf.method_timeout, 5);
        assert!(conf.cgroup && conf.strict("anything"));
        assert_eq!(complaints.len(), 2);
        assert!(complaints[0].contains("line 3"), "{complaints:?}");
    }
}
