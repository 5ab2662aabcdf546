//! Every attribute of queue_conf(5): its template default, values that are taken and values that are refused,
//! each as the default and as the value of one host.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use oxherd_conf::attribute::{self, ATTRIBUTES, markdown};
use oxherd_conf::queue::{ClusterQueue, print};
use oxherd_model::host_group::HostGroups;
use oxherd_model::queue_instance::{Origin, QueueInstance};

type TextOf = fn(&QueueInstance) -> &str;

/// Makes `attr_<name>::defaults_accepts_and_refuses` for each row.
macro_rules! rows {
    ($($test:ident: $name:ident = $default:literal, accepts $good:expr, refuses $bad:expr;)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $test() {
            check(stringify!($name), $default, &$good, &$bad, |instance| &instance.$name.text);
        })*
    };
}

fn check(name: &str, default: &str, good: &[&str], bad: &[&str], text_of: TextOf) {
    let template = ClusterQueue::template("template");
    let groups = HostGroups::new();
    let instance = template.resolve("n1", &groups).unwrap();
    assert_eq!(text_of(&instance), if name == "qname" { "template" } else { default });
    let attribute = attribute::find(name).unwrap();
    assert_eq!(attribute.default, default);
    let with = |value: &str| {
        let line = |a: &attribute::Attribute| match a.name == name {
            true => format!("{} {value}\n", a.name),
            false => format!("{} {}\n", a.name, a.default),
        };
        ClusterQueue::read(name, &ATTRIBUTES.iter().map(line).collect::<String>())
    };
    for value in good {
        let (queue, diagnostics) = with(value);
        let queue = queue.unwrap_or_else(|| panic!("{name} {value}: {diagnostics:?}"));
        assert_eq!(text_of(&queue.resolve("n1", &groups).unwrap()), *value);
        let mut set = template.clone();
        set.set(name, value).unwrap_or_else(|d| panic!("{d}"));
        assert!(print(&set).contains(&format!("{name:<22}{value}\n")));
        if attribute.allows_overrides() {
            let (queue, diagnostics) = with(&format!("{default},[N1={value}],[n2={default}]"));
            let queue = queue.unwrap_or_else(|| panic!("{name} [N1={value}]: {diagnostics:?}"));
            assert_eq!(text_of(&queue.resolve("n1", &groups).unwrap()), *value);
            assert_eq!(text_of(&queue.resolve("n3", &groups).unwrap()), default);
        }
    }
    for value in bad {
        let (queue, diagnostics) = with(value);
        assert!(queue.is_none(), "{name} {value}: {diagnostics:?}");
        assert!(template.clone().set(name, value).is_err(), "{name} {value}");
        let (queue, _) = with(&format!("{default},[n1={value}]"));
        assert!(queue.is_none(), "{name} [n1={value}]");
    }
}

const GOOD_TIME: [&str; 6] = ["0", "90", "00:00:60", "1:0:0", "INFINITY", "infinity"];
const BAD_TIME: [&str; 6] = ["1d", "NONE", "1:30", "-1", "010", "90s"];
const GOOD_MEMORY: [&str; 6] = ["0", "1.5G", "100M", "1k", "INFINITY", "0x10K"];
const BAD_MEMORY: [&str; 6] = ["1GB", "NONE", "-1", "010K", "1P", "1G,eh1=2G"];
const GOOD_NAMES: [&str; 4] = ["NONE", "a", "a b", "a,b.c"];
const BAD_NAMES: [&str; 4] = ["NONE,a", "a=b", "a(b)", ","];
const GOOD_METHOD: [&str; 4] = ["NONE", "SIGTERM", "15", "/opt/kill -9 $job_pid"];
const BAD_METHOD: [&str; 5] = ["SIGFOO", "kill 9", "0", "65", "TERM"];
const GOOD_PROCEDURE: [&str; 4] = ["NONE", "/opt/prolog", "root@/opt/prolog $job_id a,b=c", "relative x"];
const BAD_PROCEDURE: [&str; 2] = ["root@", "@/x"];
const GOOD_VALUES: [&str; 4] = ["NONE", "np_load_avg=1.75", "a=1,b=2", "a=1 b=x"];
const BAD_VALUES: [&str; 4] = ["a", "a=", "=1", "x y=1"];

rows! {
    attr_qname: qname = "template", accepts ["all.q", "a-b_c"], refuses ["a b", "a,b", "a=b"];
    attr_hostlist: hostlist = "NONE", accepts ["NONE", "n1", "n1 @all,n2"], refuses ["a=b", "NONE,n1", "@"];
    attr_seq_no: seq_no = "0", accepts ["4294967295", "0x10", "010"], refuses ["-1", "4294967296", "x", "1K"];
    attr_load_thresholds: load_thresholds = "np_load_avg=1.75", accepts GOOD_VALUES, refuses BAD_VALUES;
    attr_suspend_thresholds: suspend_thresholds = "NONE", accepts GOOD_VALUES, refuses BAD_VALUES;
    attr_nsuspend: nsuspend = "1", accepts ["0", "7"], refuses ["-1", "1.5", "NONE"];
    attr_suspend_interval: suspend_interval = "00:05:00", accepts GOOD_TIME, refuses BAD_TIME;
    attr_priority: priority = "0", accepts ["-20", "20", "+5", "1.5"], refuses ["-21", "21", "x", "1.5x", "5,eh1=6"];
    attr_min_cpu_interval: min_cpu_interval = "00:05:00", accepts GOOD_TIME, refuses BAD_TIME;
    attr_processors: processors = "UNDEFINED", accepts ["UNDEFINED", "1-4,8", "2-"], refuses ["NONE", "a", "1-9:2"];
    attr_qtype: qtype = "BATCH INTERACTIVE", accepts ["NONE", "batch", "BATCH,INTERACTIVE"],
        refuses ["PARALLEL", "CHECKPOINTING", "NONE BATCH", "x"];
    attr_ckpt_list: ckpt_list = "NONE", accepts GOOD_NAMES, refuses BAD_NAMES;
    attr_pe_list: pe_list = "make smp mpi", accepts GOOD_NAMES, refuses BAD_NAMES;
    attr_rerun: rerun = "FALSE", accepts ["TRUE", "false", "1", "0", "y", "yes", "f", "No"], refuses ["tr", "2", "NONE"];
    attr_slots: slots = "1", accepts ["0", "9999999", "0x10", "1e1"],
        refuses ["10000000", "-1", "4.5", "1K", "INFINITY", "4,eh1=2"];
    attr_tmpdir: tmpdir = "/tmp", accepts ["/var/tmp", "relative", "NONE"], refuses [];
    attr_shell: shell = "/bin/sh", accepts ["/bin/bash"], refuses ["NONE", "bash", "/bin/sh,eh1=/bin/csh"];
    attr_prolog: prolog = "NONE", accepts GOOD_PROCEDURE, refuses BAD_PROCEDURE;
    attr_epilog: epilog = "NONE", accepts GOOD_PROCEDURE, refuses BAD_PROCEDURE;
    attr_shell_start_mode: shell_start_mode = "posix_compliant",
        accepts ["unix_behavior", "UNIX_BEHAVIOR", "script_from_stdin"], refuses ["raw_exec", "NONE", "start_as_command"];
    attr_starter_method: starter_method = "NONE", accepts ["none", "/opt/starter", "relative"], refuses [];
    attr_suspend_method: suspend_method = "NONE", accepts GOOD_METHOD, refuses BAD_METHOD;
    attr_resume_method: resume_method = "NONE", accepts GOOD_METHOD, refuses BAD_METHOD;
    attr_terminate_method: terminate_method = "NONE", accepts GOOD_METHOD, refuses BAD_METHOD;
    attr_notify: notify = "00:00:60", accepts GOOD_TIME, refuses BAD_TIME;
    attr_owner_list: owner_list = "NONE", accepts GOOD_NAMES, refuses BAD_NAMES;
    attr_user_lists: user_lists = "NONE", accepts GOOD_NAMES, refuses BAD_NAMES;
    attr_xuser_lists: xuser_lists = "NONE", accepts GOOD_NAMES, refuses BAD_NAMES;
    attr_subordinate_list: subordinate_list = "NONE", accepts ["b.q=2 c.q", "slots=2(b.q:1:lr, c.q:2:sr)", "Slots=2(b.q)"],
        refuses ["slots=0(b.q)", "slots=2(b.q:1:xx)", "slots=2(b.q) c.q", "b.q=x"];
    attr_complex_values: complex_values = "NONE", accepts GOOD_VALUES, refuses BAD_VALUES;
    attr_projects: projects = "NONE", accepts GOOD_NAMES, refuses BAD_NAMES;
    attr_xprojects: xprojects = "NONE", accepts GOOD_NAMES, refuses BAD_NAMES;
    attr_calendar: calendar = "NONE", accepts ["night", "none"], refuses ["a b", "a,b"];
    attr_initial_state: initial_state = "default", accepts ["Enabled", "disabled"], refuses ["on", "NONE"];
    attr_s_rt: s_rt = "INFINITY", accepts GOOD_TIME, refuses BAD_TIME;
    attr_h_rt: h_rt = "INFINITY", accepts GOOD_TIME, refuses BAD_TIME;
    attr_s_cpu: s_cpu = "INFINITY", accepts GOOD_TIME, refuses BAD_TIME;
    attr_h_cpu: h_cpu = "INFINITY", accepts GOOD_TIME, refuses BAD_TIME;
    attr_s_fsize: s_fsize = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_h_fsize: h_fsize = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_s_data: s_data = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_h_data: h_data = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_s_stack: s_stack = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_h_stack: h_stack = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_s_core: s_core = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_h_core: h_core = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_s_rss: s_rss = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_h_rss: h_rss = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_s_vmem: s_vmem = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
    attr_h_vmem: h_vmem = "INFINITY", accepts GOOD_MEMORY, refuses BAD_MEMORY;
}

#[test]
fn every_attribute_of_the_table_has_a_test() {
    let table: Vec<_> = ATTRIBUTES.iter().map(|a| a.name).collect();
    assert_eq!(NAMES, table);
}

#[test]
fn a_set_value_wins_over_every_override() {
    let mut queue = ClusterQueue::template("all.q");
    queue.set("slots", "7").unwrap();
    let instance = queue.resolve("n1", &HostGroups::new()).unwrap();
    assert_eq!((instance.slots.value.0, &instance.slots.origin), (7, &Origin::Set));
    let error = queue.set("slot", "7").unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `slots`?"));
    assert_eq!(queue.set("h_rt", "1d").unwrap_err().column(), 2);
    assert!(queue.set("prolog", "/x,[n1=/y]").is_err());
}

#[test]
fn the_attribute_document_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/attributes.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, markdown()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), markdown(), "refresh with UPDATE=1");
}
