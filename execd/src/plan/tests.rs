//! Plans of a few jobs, down to the text of their job directories.

use super::*;
use crate::options::Ignored;
use crate::{job::Submission, script_options, words};
use oxherd_conf::queue::ClusterQueue;
use oxherd_handoff::{Config, Key};
use oxherd_model::host_group::HostGroups;

/// A job as it comes from the command line, for a queue with some settings.
struct Case {
    job: Job,
    queue: ClusterQueue,
}

fn case(script: &str) -> Case {
    let (options, _) = script_options::read(script.as_bytes()).expect("legal options");
    let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let job = Job {
        id: JobId(7),
        owner: Account {
            name: "alice".to_owned(),
            uid: 1001,
            gid: 1002,
            groups: vec![1002, 2000],
            home: "/home/alice".into(),
            shell: "/bin/bash".into(),
        },
        program: Program::Script { path: "/w/sim.sh".into(), text: script.as_bytes().to_vec() },
        arguments: vec!["a b".into(), "".into()],
        options,
        submission: Submission {
            environment: vec![
                variable("PATH", "/opt/bin:/bin"),
                variable("HOME", "/home/alice"),
                variable("LOGNAME", "alice"),
                variable("SHELL", "/bin/zsh"),
                variable("EDITOR", "ed"),
            ],
            directory: "/w".into(),
            host: "desk".to_owned(),
            time: 1_700_000_000,
        },
    };
    Case { job, queue: ClusterQueue::template("all.q") }
}

fn facts() -> HostFacts {
    HostFacts {
        host: "node1".to_owned(),
        arch: "lx-amd64".to_owned(),
        admin_user: "root".to_owned(),
        spool_dir: "/spool".into(),
        sge_root: "/var/lib/oxherd".into(),
        sge_cell: "default".to_owned(),
        min_uid: 0,
        min_gid: 0,
        login_shells: LOGIN_SHELLS.map(str::to_owned).to_vec(),
        parallel_environments: Vec::new(),
        home_of: |_| None,
    }
}

impl Case {
    fn set(mut self, name: &str, value: &str) -> Self {
        self.queue.set(name, value).expect("a legal value");
        self
    }

    /// Options of the command line.
    fn options(mut self, line: &str) -> Self {
        let mut options = Options::default();
        let mut ignored: Vec<Ignored> = Vec::new();
        let words = words::split(line).expect("words");
        options.read(&words, Given::CommandLine, &mut ignored).expect("legal options");
        self.job.options = options.over(self.job.options);
        self
    }

    fn plan(&self) -> Result<JobPlan, PlanError> {
        let queue = self.queue.resolve("node1", &HostGroups::new()).expect("not ambiguous");
        plan(&self.job, &queue, &facts())
    }

    fn planned(&self) -> JobPlan {
        self.plan().expect("a plan")
    }

    fn refused(&self) -> String {
        self.plan().expect_err("refused").to_string()
    }

    fn config(&self) -> Config {
        Config::parse(self.planned().config().expect("representable")).expect("legal")
    }
}

/// Compares with a file beside this one; `OXHERD_GOLDEN=write` makes the file instead.
#[track_caller]
fn golden(name: &str, text: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plan/golden").join(name);
    if std::env::var_os("OXHERD_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("written");
    }
    let expected = std::fs::read_to_string(&path).expect("readable");
    assert_eq!(String::from_utf8_lossy(text), expected, "{name}");
}

#[test]
fn the_config_of_a_plain_job_is_the_golden_one() {
    let mut planned = case("echo hello\n").planned();
    planned.add_grp_id = Some(64_007);
    golden("plain.config", &planned.config().expect("representable"));
    golden("plain.environment", &planned.environment.text());
    assert_eq!(planned.pe_hostfile(), "node1 1 all.q@node1 UNDEFINED\n");
    assert_eq!(planned.notes, Vec::<String>::new());
}

#[test]
fn the_config_of_a_rich_job_is_the_golden_one() {
    let script = "#$ -N sim -o out/$JOB_ID -j y -cwd -notify\n#$ -l h_rt=0:1:0,h_vmem=600M -pe smp 3\n";
    let planned = case(script)
        .set("h_rt", "1:0:0")
        .set("s_rt", "0:0:50")
        .set("h_vmem", "1G")
        .set("h_stack", "5M")
        .set("slots", "4")
        .set("notify", "0:0:7")
        .set("priority", "5")
        .set("shell", "/bin/ksh93")
        .set("prolog", "root@/site/prolog $host")
        .set("terminate_method", "SIGTERM")
        .options("-S /bin/bash -l h_fsize=10M -v X=1,EDITOR")
        .planned();
    golden("rich.config", &planned.config().expect("representable"));
    let value = |name: &str| planned.environment.get(name).map(|value| value.to_string_lossy().into_owned());
    assert_eq!(value("EDITOR").as_deref(), Some("ed"));
    assert_eq!(value("PWD").as_deref(), Some("/w"));
    assert_eq!(value("NSLOTS").as_deref(), Some("3"));
    assert_eq!(value("PE").as_deref(), Some("smp"));
    assert_eq!(value("PE_HOSTFILE").as_deref(), Some("/spool/active_jobs/7.1/pe_hostfile"));
    assert_eq!(value("PATH").as_deref(), Some("/tmp/7.1.all.q:/usr/local/bin:/bin:/usr/bin"));
    let source = |name: &str| {
        let decisions = planned.decisions();
        let found = decisions.into_iter().find(|decision| decision.name == name).expect(name);
        format!("{} <- {}", found.value, found.source)
    };
    assert_eq!(source("h_rt"), "0:1:0 <- script line 2: -l");
    assert_eq!(source("h_fsize"), "10M <- command line: -l");
    assert_eq!(source("h_stack"), "5M <- --set");
    assert_eq!(source("s_cpu"), "INFINITY <- queue default");
    assert_eq!(source("cwd"), "/w <- script line 1: -cwd");
    assert_eq!(source("shell"), "/bin/bash <- command line: -S");
    assert_eq!(source("stdout"), "/w/out/7 <- script line 1: -o");
    assert_eq!(source("stderr"), "oxherd's own <- built in");
}

#[test]
fn a_command_is_run_as_it_stands() {
    let mut case = case("");
    case.job.program = Program::Command("ulimit -a".into());
    case.job.arguments = Vec::new();
    let config = case.options("-shell n").config();
    assert_eq!(config.os(Key::ScriptFile), Some("ulimit -a".as_ref()));
    assert_eq!(config.number(Key::HandleAsBinary, 0), Ok(1));
    assert_eq!(config.number(Key::NoShell, 0), Ok(1));
}

#[test]
fn the_smaller_of_limit_and_request_holds() {
    let (queue, above) = (
        "0:10:0",
        "command line: `-l h_rt=601` is above the limit of queue `all.q`, `h_rt` is \
                                     `0:10:0` (--set)",
    );
    for (request, expected) in [("600", Ok("600")), ("::1", Ok("1")), ("601", Err(above))] {
        let case = case("").set("h_rt", queue).options(&format!("-l h_rt={request}"));
        match expected {
            Ok(seconds) => {
                assert_eq!(case.config().os(Key::OxHRt), Some(seconds.as_ref()), "{request}");
            }
            Err(message) => assert_eq!(case.refused(), message),
        }
    }
    let infinite = case("").set("h_vmem", "1G").options("-l h_vmem=INFINITY").refused();
    assert!(infinite.contains("`-l h_vmem=INFINITY` is above the limit"), "{infinite}");
    let unreadable = case("").options("-l h_rt=90s").refused();
    assert_eq!(
        unreadable,
        "command line: `-l h_rt`: expected a time (seconds, `hh:mm:ss` or `INFINITY`), found `90s`"
    );
}

#[test]
fn a_request_that_is_no_limit_is_named() {
    let planned = case("").options("-l mem_free=1G").planned();
    assert_eq!(planned.notes, ["command line: `-l mem_free` is ignored: it is no limit of a queue"]);
}

#[test]
fn parallel_requests_must_fit_the_queue() {
    assert_eq!(
        case("").options("-pe smp 2").refused(),
        "command line: 2 slots are more than the 1 of queue `all.q` (queue default)"
    );
    let missing = case("").set("pe_list", "make").options("-pe smp 1").refused();
    assert_eq!(
        missing,
        "command line: parallel environment `smp` is not in the pe_list of queue `all.q`: `make`"
    );
}

#[test]
fn a_known_parallel_environment_brings_its_procedures_and_its_slots() {
    let text = "pe_name smp\nslots 3\nstart_proc_args /pe/start $pe_hostfile\nstop_proc_args NONE\n\
        allocation_rule $pe_slots\n";
    let (pe, diagnostics) = ParallelEnvironment::read("smp", text);
    let host = HostFacts { parallel_environments: vec![pe.expect("legal")], ..facts() };
    assert_eq!(diagnostics, []);
    let planned = |slots: u32| {
        let case = case("").set("slots", "9").options(&format!("-pe smp {slots}"));
        plan(&case.job, &case.queue.resolve("node1", &HostGroups::new()).expect("not ambiguous"), &host)
    };
    let plan = planned(3).expect("a plan");
    let config = Config::parse(plan.config().expect("representable")).expect("legal");
    assert_eq!(config.os(Key::PeStart), Some("/pe/start $pe_hostfile".as_ref()));
    assert_eq!(config.os(Key::PeStop), Some("none".as_ref()));
    assert_eq!(plan.notes, Vec::<String>::new());
    assert_eq!(
        planned(4).expect_err("refused").to_string(),
        "command line: 4 slots are more than the 3 of parallel environment `smp`"
    );
}

#[test]
fn users_below_min_uid_are_refused() {
    let case = case("");
    let queue = case.queue.resolve("node1", &HostGroups::new()).expect("not ambiguous");
    let host = HostFacts { min_uid: 2000, ..facts() };
    let error = plan(&case.job, &queue, &host).expect_err("refused").to_string();
    assert_eq!(error, "user id 1001 of `alice` is below min_uid 2000");
}

#[test]
fn a_value_that_the_file_cannot_carry_is_refused_before_anything_is_written() {
    let mut case = case("");
    case.job.arguments = vec!["x\nprolog=root@/bin/sh".into()];
    let error = case.planned().config().expect_err("refused").to_string();
    assert!(error.starts_with("config: the value of `job_arg` contains a newline"), "{error}");
}

#[test]
fn input_and_output_are_not_one_file() {
    let error = case("").options("-o /x -i /x").refused();
    assert_eq!(error, "command line: standard input `/x` is also where the output goes");
    case("").options("-o /dev/null -i /dev/null").planned();
}

#[test]
fn a_host_outside_the_hostlist_is_only_a_note() {
    let planned = case("").set("hostlist", "c001 c002").planned();
    assert_eq!(planned.notes, ["host `node1` is not in the hostlist of queue `all.q`"]);
    assert_eq!(case("").set("hostlist", "NODE1").planned().notes, Vec::<String>::new());
}

#[test]
fn a_directory_is_written_once_and_never_over_another() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let planned = case("").planned();
    planned.write_dir(dir.path()).expect("written");
    for name in ["config", "environment", "pe_hostfile"] {
        assert!(dir.path().join(name).is_file(), "{name}");
    }
    let error = planned.write_dir(dir.path()).expect_err("taken").to_string();
    assert!(error.ends_with("/pe_hostfile"), "{error}");
}
