//! A plan for people and programs to read: what was decided, and by whom.

use super::{Decided, JobPlan, Stream};

/// One line of `oxherd run --dry-run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The parameter's name in queue_conf(5), qsub(1) or `config`.
    pub name: String,
    pub value: String,
    pub source: String,
}

impl JobPlan {
    /// Every decision, in the order in which a job meets them, its variables last.
    #[must_use]
    pub fn decisions(&self) -> Vec<Decision> {
        let mut list = List(Vec::new());
        list.add("job_id", self.job_id.to_string(), "host");
        list.decided("job_name", &self.name, Clone::clone);
        list.add("job_owner", &self.owner.name, "account");
        let groups: Vec<_> = self.owner.groups.iter().map(u32::to_string).collect();
        list.add("uid", self.owner.uid.to_string(), "account");
        list.add("gid", self.owner.gid.to_string(), "account");
        list.add("groups", groups.join(" "), "account");
        list.add("queue", format!("{}@{}", self.queue, self.host), "host");
        list.decided("slots", &self.slots, u32::to_string);
        if let Some(pe) = &self.pe {
            list.decided("pe", &pe.name, Clone::clone);
            list.add("start_proc_args", &pe.start, "parallel environment");
            list.add("stop_proc_args", &pe.stop, "parallel environment");
        }
        list.add("script_file", self.script_file.to_string_lossy(), "command line");
        for (number, argument) in self.arguments.iter().enumerate() {
            list.add(format!("job_arg{}", number + 1), argument.to_string_lossy(), "command line");
        }
        list.decided("shell_start_mode", &self.shell_start_mode, ToString::to_string);
        list.decided("shell", &self.shell, Clone::clone);
        list.add("use_login_shell", yes_no(self.login_shell), "built in");
        list.decided("no_shell", &self.no_shell, |value| yes_no(*value).to_owned());
        list.decided("starter_method", &self.starter_method, Clone::clone);
        list.decided("cwd", &self.cwd, |value| value.to_string_lossy().into_owned());
        list.decided("stdin", &self.stdin, |value| value.to_string_lossy().into_owned());
        list.decided("stdout", &self.stdout, stream);
        list.decided("stderr", &self.stderr, stream);
        list.decided("merge_stderr", &self.merge, |value| yes_no(*value).to_owned());
        list.decided("tmpdir", &self.queue_tmpdir, |_| self.tmpdir.clone());
        for limit in &self.limits {
            list.add(limit.name, &limit.text, &limit.source.to_string());
        }
        list.decided("priority", &self.priority, i32::to_string);
        list.decided("prolog", &self.prolog, Clone::clone);
        list.decided("epilog", &self.epilog, Clone::clone);
        list.decided("suspend_method", &self.suspend_method, Clone::clone);
        list.decided("resume_method", &self.resume_method, Clone::clone);
        list.decided("terminate_method", &self.terminate_method, Clone::clone);
        list.decided("notify", &self.notify, u64::to_string);
        list.add("job_dir", self.job_dir.to_string_lossy(), "host");
        let group = self.add_grp_id.map_or_else(|| "leased at the start".to_owned(), |gid| gid.to_string());
        list.add("add_grp_id", group, "host");
        for (name, value) in self.environment.iter() {
            list.add(format!("env {}", name.to_string_lossy()), value.to_string_lossy(), "environment");
        }
        list.0
    }
}

struct List(Vec<Decision>);

impl List {
    fn add(&mut self, name: impl Into<String>, value: impl Into<String>, source: &str) {
        self.0.push(Decision { name: name.into(), value: value.into(), source: source.to_owned() });
    }

    fn decided<T>(&mut self, name: &str, decided: &Decided<T>, show: impl FnOnce(&T) -> String) {
        self.add(name, show(&decided.value), &decided.source.to_string());
    }
}

fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn stream(stream: &Stream) -> String {
    match stream {
        Stream::Own => "oxherd's own".to_owned(),
        Stream::File(path) => path.to_string_lossy().into_owned(),
    }
}
