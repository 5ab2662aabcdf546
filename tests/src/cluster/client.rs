//! The commands of the cluster: submit, look, change.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use super::{BIN, Cluster, objects};
use crate::accounts::Account;
use crate::scratch::file;
use crate::wait::{secs, wait_for, wait_until};

/// One accounting record, by the names `qacct -j` prints.
pub type Record = BTreeMap<String, String>;

impl Cluster {
    /// Runs a client command as root; its output, or what went wrong.
    pub fn try_q(&self, program: &str, args: &[&str]) -> Result<String, String> {
        result(self.command(&format!("{BIN}/{program}")).args(args))
    }

    /// Runs a client command as root that must succeed.
    #[track_caller]
    pub fn q(&self, program: &str, args: &[&str]) -> String {
        self.try_q(program, args).unwrap_or_else(|error| panic!("{program} {args:?}: {error}"))
    }

    /// Runs a client command whose last argument is a file with `text`.
    #[track_caller]
    pub fn q_file(&self, program: &str, option: &str, name: &str, text: &str) -> String {
        let path = self.root().join(name);
        file(&path, text, None, 0o644);
        self.q(program, &[option, &path.to_string_lossy()])
    }

    /// Adds a queue with these attributes.
    #[track_caller]
    pub fn add_queue(&self, name: &str, attributes: &[(&str, &str)]) {
        let tmpdir = self.root().join("jobtmp");
        self.q_file("qconf", "-Aq", name, &objects::queue(name, &tmpdir.to_string_lossy(), attributes));
    }

    /// Changes one attribute of a queue.
    #[track_caller]
    pub fn set_queue(&self, name: &str, attribute: &str, value: &str) {
        self.q("qconf", &["-rattr", "queue", attribute, value, name]);
    }

    /// Adds a parallel environment.
    #[track_caller]
    pub fn add_pe(&self, name: &str, start: &str, stop: &str) {
        self.q_file("qconf", "-Ap", name, &objects::parallel_environment(name, start, stop));
    }

    /// Changes one line of the global configuration.
    #[track_caller]
    pub fn set_configuration(&self, key: &str, value: &str) {
        let text = objects::with_line(&self.q("qconf", &["-sconf"]), key, value);
        // `qconf -Mconf` takes the name of the configuration from the file.
        self.q_file("qconf", "-Mconf", "global", &text);
    }

    /// Writes an executable `#!/bin/sh` file and gives its path.
    pub fn procedure(&self, name: &str, body: &str) -> String {
        let path = self.root().join("bin").join(name);
        file(&path, &format!("#!/bin/sh\n{body}\n"), None, 0o755);
        path.to_string_lossy().into_owned()
    }

    /// Submits a script and gives the number of the job.
    #[track_caller]
    pub fn qsub_as(&self, user: &Account, args: &[&str], script: &str) -> u32 {
        let name = format!("script.{:016x}", script_key(script));
        let path = self.root().join("bin").join(name);
        file(&path, script, None, 0o644);
        self.qsub_line(user, args, &[&path.to_string_lossy()])
    }

    /// Submits with a whole command line and gives the number of the job.
    #[track_caller]
    pub fn qsub_line(&self, user: &Account, args: &[&str], command: &[&str]) -> u32 {
        let mut line = self.command_as(user, &format!("{BIN}/qsub"));
        line.args(["-terse", "-cwd", "-N", "sim"]).args(args).args(command);
        let output = result(&mut line).unwrap_or_else(|error| panic!("qsub {args:?} {command:?}: {error}"));
        let number = output.lines().last().unwrap_or_default();
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_else(|_| panic!("qsub printed no job number: {output}"))
    }

    /// Submits with nothing but this command line and gives the number of the job.
    pub fn qsub_plain(&self, user: &Account, line: &[String]) -> Result<u32, String> {
        let output = result(self.command_as(user, &format!("{BIN}/qsub")).arg("-terse").args(line))?;
        let digits: String = output.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| format!("qsub printed no job number: {output}"))
    }

    /// The state letters of all jobs in `qstat`.
    pub fn job_states(&self) -> BTreeMap<u32, String> {
        let list = self.q("qstat", &["-u", "*"]);
        let job = |line: &str| {
            let mut words = line.split_whitespace();
            let number = words.next()?.parse().ok()?;
            Some((number, words.nth(3)?.to_owned()))
        };
        list.lines().filter_map(job).collect()
    }

    /// The state letters of a job; `None` when it is not listed.
    pub fn job_state(&self, job: u32) -> Option<String> {
        self.job_states().remove(&job)
    }

    /// The state letters of the host's queue instances, empty where all is well.
    pub fn queue_states(&self) -> BTreeMap<String, String> {
        let list = self.q("qstat", &["-f"]);
        let instance = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (queue, _) = words.first()?.split_once('@')?;
            Some((queue.to_owned(), words.get(5).copied().unwrap_or_default().to_owned()))
        };
        list.lines().filter_map(instance).collect()
    }

    /// The accounting records of a job so far, oldest first.
    pub fn records(&self, job: u32) -> Vec<Record> {
        let Ok(text) = self.try_q("qacct", &["-j", &job.to_string()]) else { return Vec::new() };
        records(&text)
    }

    /// The accounting records of all jobs so far, oldest first.
    pub fn all_records(&self) -> Vec<Record> {
        let Ok(text) = self.try_q("qacct", &["-j"]) else { return Vec::new() };
        records(&text)
    }

    /// The state letters of every listed job, one for each of its tasks.
    pub fn task_states(&self) -> BTreeMap<u32, Vec<String>> {
        let mut states: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for line in self.q("qstat", &["-g", "d", "-u", "*"]).lines() {
            let mut words = line.split_whitespace();
            let number = words.next().and_then(|word| word.parse().ok());
            if let (Some(number), Some(state)) = (number, words.nth(3)) {
                states.entry(number).or_default().push(state.to_owned());
            }
        }
        states
    }

    /// Waits until the job is no longer listed and has a record; gives the last one.
    #[track_caller]
    pub fn wait_gone(&self, job: u32) -> Record {
        wait_until(&format!("job {job} to be gone"), secs(60), || self.job_state(job).is_none());
        wait_for(&format!("the record of job {job}"), secs(20), || self.records(job).pop())
    }

    /// Waits until the job runs.
    #[track_caller]
    pub fn wait_running(&self, job: u32) {
        wait_until(&format!("job {job} to run"), secs(40), || {
            self.job_state(job).is_some_and(|state| state == "r")
        });
    }

    /// Waits until a file in the jobs' working directory has this line.
    #[track_caller]
    pub fn wait_line(&self, name: &str, line: &str) {
        wait_until(&format!("`{line}` in {name}"), secs(60), || {
            self.lines(name).iter().any(|known| known == line)
        });
    }

    /// The lines of a file in the jobs' working directory.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.work().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// The records in what `qacct -j` prints, without the sum that follows those of all jobs.
fn records(text: &str) -> Vec<Record> {
    let text = text.split("Total System Usage").next().unwrap_or_default();
    let blocks = text.split("==============================================================");
    let pair = |line: &str| {
        let (key, value) = line.trim_end().split_once(' ')?;
        Some((key.to_owned(), value.trim().to_owned()))
    };
    let records = blocks.map(|block| block.lines().filter_map(pair).collect::<Record>());
    records.filter(|record| !record.is_empty()).collect()
}

fn result(command: &mut Command) -> Result<String, String> {
    let Output { status, stdout, stderr } = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        Ok(text)
    } else {
        Err(format!("{status}: {text}{}", String::from_utf8_lossy(&stderr)))
    }
}

/// Names a script file by what is in it.
fn script_key(script: &str) -> u64 {
    script
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |key, byte| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
