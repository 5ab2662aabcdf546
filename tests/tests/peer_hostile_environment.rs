//! Attacks by way of the environment: variables, libraries and search paths of the job owner's in the hands of a program
//! that runs as somebody else.

use std::fs;
use std::process::Command;

use oxherd_tests::{Case, JobDir, both, ours_only, secs};

both![
    python_of_root_does_not_load_the_owners_customisation,
    perl_of_root_does_not_load_the_owners_modules,
    a_time_zone_that_is_a_pipe_does_not_hold_up_root,
    a_library_in_another_users_procedure_is_not_loaded,
    a_library_in_a_procedure_of_the_owners_cannot_become_root,
    a_library_in_a_method_cannot_become_root,
    blanks_in_an_output_path_give_root_no_further_arguments,
];

ours_only![
    nothing_that_steers_a_program_reaches_another_user,
    the_cell_of_a_root_procedure_is_that_of_execd,
    a_huge_environment_is_the_jobs_own_fault,
    arguments_that_are_too_long_are_the_jobs_own_fault,
];

fn a_python(job: &JobDir, text: &str) -> String {
    let path = job.procedure("python", "");
    fs::write(&path, format!("#!/usr/bin/python3\n{text}\n")).expect("written");
    path
}

fn python_of_root_does_not_load_the_owners_customisation(case: &Case) {
    let mut job = case.job();
    let home = job.in_work("home");
    let site =
        Command::new("/usr/bin/python3").env("HOME", &home).args(["-m", "site", "--user-site"]).output();
    let site = String::from_utf8(site.expect("python").stdout).expect("text").trim().to_owned();
    fs::create_dir_all(&site).expect("made");
    fs::write(format!("{site}/usercustomize.py"), "import os\nos.system('id -u >pwned')\n").expect("written");
    let prolog = a_python(&job, "print('hello')");
    job.env("HOME", &home).set("prolog", &format!("root@{prolog}"));
    job.run().expect_finished(0);
    assert_eq!(job.read("pwned"), case.deviates("0\n", ""));
    assert!(job.stdout().starts_with("hello"));
}

fn perl_of_root_does_not_load_the_owners_modules(case: &Case) {
    let mut job = case.job();
    fs::write(job.work().join("Evil.pm"), "package Evil; system 'id -u >pwned'; 1\n").expect("written");
    let prolog = job.procedure("prolog", "exec perl -e 'print qq(hello\\n)'");
    let work = job.in_work("");
    job.env("PERL5LIB", &work).env("PERL5OPT", "-MEvil");
    let bob = oxherd_tests::accounts::BOB;
    job.set("prolog", &format!("{bob}@{prolog}"));
    // A directory that everybody may write: only whose code ran there is of interest.
    oxherd_tests::scratch::directory(&job.work(), Some(&job.owner), 0o777);
    job.run().expect_finished(0);
    assert_eq!(
        job.read("pwned").is_empty(),
        case.ours(),
        "the owner's code ran as {bob}: {}",
        job.read("pwned")
    );
}

fn a_time_zone_that_is_a_pipe_does_not_hold_up_root(case: &Case) {
    let mut job = case.job();
    let pipe = job.in_work("pipe");
    assert!(Command::new("mkfifo").args(["-m", "666"]).arg(&pipe).status().expect("mkfifo").success());
    let prolog = job.procedure("prolog", "date");
    job.env("TZ", &pipe).set("script_timeout", "2").set("prolog", &format!("root@{prolog}"));
    let mut running = job.start();
    if case.ours() {
        running.end().expect_finished(0);
    } else {
        assert_eq!(running.ends_within(secs(2)), None, "8.1.9 hangs for ever");
    }
}

/// A library that says who it is loaded as, and takes what it can: root by a saved user id, root's file, the shepherd.
fn library(job: &JobDir) -> String {
    const TEXT: &str = "#define _GNU_SOURCE\n#include <stdio.h>\n#include <signal.h>\n#include <unistd.h>\n#include <stdlib.h>\n#include <string.h>\n\
        __attribute__((constructor)) static void f(void) {\n uid_t r, e, s; getresuid(&r, &e, &s);\n\
        int root = setuid(0) == 0 || seteuid(0) == 0 || setresuid(0, 0, 0) == 0;\n\
        FILE *c = fopen(getenv(\"CANARY\") ? getenv(\"CANARY\") : \"/x\", \"a\"); if (c) fclose(c);\n\
        char n[64] = \"\"; sprintf(n, \"/proc/%d/comm\", (int)getppid()); FILE *p = fopen(n, \"r\"); n[0] = 0;\n\
        if (p) { if (!fgets(n, 9, p)) n[0] = 0; fclose(p); }\n\
        int told = strcmp(n, \"sge_shep\") == 0 && kill(getppid(), SIGTERM) == 0;\n\
        FILE *o = fopen(getenv(\"TOLD\") ? getenv(\"TOLD\") : \"/dev/null\", \"a\");\n\
        if (o) { fprintf(o, \"%d %d %d root=%d canary=%d shepherd=%d\\n\", r, e, s, root, c != 0, told); fclose(o); } }\n";
    let (source, made) = (job.root().join("lib.c"), job.root().join("bin/lib.so"));
    fs::write(&source, TEXT).expect("written");
    let done = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&made).arg(&source).status();
    assert!(done.expect("a C compiler").success());
    made.to_str().expect("text").to_owned()
}

/// Loads the library into whatever has the job's environment.
fn preload(job: &mut JobDir) {
    let library = library(job);
    let (told, canary) = (job.in_work("told"), job.root().join("canary"));
    oxherd_tests::scratch::file(&canary, "", None, 0o600);
    oxherd_tests::scratch::file(&job.work().join("told"), "", Some(&job.owner), 0o666);
    job.env("LD_PRELOAD", &library).env("TOLD", &told).env("CANARY", canary.to_str().expect("text"));
}

fn a_library_in_another_users_procedure_is_not_loaded(case: &Case) {
    let mut job = case.job();
    preload(&mut job);
    let bob = oxherd_tests::accounts::bob();
    let prolog = job.procedure("prolog", "exit 0");
    job.set("script_file", "none").set("prolog", &format!("{}@{prolog}", bob.name));
    job.run();
    let ran = job.lines("told").iter().any(|line| line.starts_with(&bob.uid.to_string()));
    assert_eq!(ran, !case.ours(), "the owner's code as {}: {}", bob.name, job.read("told"));
}

#[track_caller]
fn assert_no_root(job: &JobDir, least: usize) {
    let (owner, told) = (job.owner.uid, job.lines("told"));
    let harmless = format!("{owner} {owner} {owner} root=0 canary=0 ");
    assert!(told.len() >= least, "the library was loaded {} times: {told:#?}", told.len());
    for line in &told {
        assert!(line.starts_with(&harmless), "{told:#?}");
    }
}

fn a_library_in_a_procedure_of_the_owners_cannot_become_root(case: &Case) {
    let mut job = case.job();
    preload(&mut job);
    let procedure = job.procedure("procedure", "exit 0");
    job.pe("mpi", 1);
    for key in ["prolog", "epilog", "pe_start", "pe_stop"] {
        job.set(key, &procedure);
    }
    let out = job.run();
    out.expect_code(0);
    assert_no_root(&job, 5);
    assert!(!job.lines("told").iter().any(|line| line.ends_with("shepherd=1")), "{:#?}", job.lines("told"));
}

fn a_library_in_a_method_cannot_become_root(case: &Case) {
    let mut job = case.job();
    preload(&mut job);
    job.set("suspend_method", "/bin/true").set("resume_method", "/bin/true");
    job.set("terminate_method", "/bin/kill -9 $job_pid");
    job.script("echo ready >seen; sleep 300\n");
    let mut running = job.start_ready();
    running.order_suspend();
    oxherd_tests::wait_until("the suspend method", secs(5), || running.trace().contains("reaped"));
    running.order_kill();
    running.end().expect_code(0);
    assert_no_root(&job, 4);
}

/// D34: `-o '/tmp/x --evil y'` with `prolog root@/site/prolog $stdout_path`.
fn blanks_in_an_output_path_give_root_no_further_arguments(case: &Case) {
    let mut job = case.job();
    let told = job.root().join("told");
    let prolog =
        job.procedure("prolog", &format!("for a in \"$@\"; do echo \"[$a]\" >>{}; done", told.display()));
    let path = job.in_work("x --delete y");
    job.set("stdout_path", &path).set("prolog", &format!("root@{prolog} $stdout_path end"));
    job.run();
    let told = fs::read_to_string(told).unwrap_or_default();
    assert_eq!(told.contains("[--delete]"), !case.ours(), "{told}");
    if case.ours() {
        assert_eq!(told, format!("[{path}]\n[end]\n"));
    }
}

/// Values that change what a program loads, opens, executes or prints where.
const STEERING: [&str; 45] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "LD_DEBUG_OUTPUT",
    "LD_PROFILE",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "GLIBC_TUNABLES",
    "MALLOC_TRACE",
    "RES_OPTIONS",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "GETCONF_DIR",
    "TZDIR",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "IFS",
    "CDPATH",
    "BASH_FUNC_echo%%",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "TCLLIBPATH",
    "TMP",
    "TMPDIR",
    "TEMP",
    "PWD",
    "OLDPWD",
    "EDITOR",
    "PAGER",
    "SGE_ND",
    "SGE_DEBUG_LEVEL",
    "SGE_QMASTER_PORT",
    "XDG_CONFIG_HOME",
];

fn nothing_that_steers_a_program_reaches_another_user(case: &Case) {
    let mut job = case.job();
    for name in STEERING {
        job.env(name, "hostile");
    }
    for (name, value) in [
        ("HOME", "/hostile"),
        ("SHELL", "/hostile"),
        ("PATH", "/hostile"),
        ("TZ", ":/hostile"),
        ("LANG", "/hostile"),
        ("LC_ALL", "../hostile"),
        ("LANGUAGE", "hostile/"),
        ("LC_PAPER", "hostile"),
        ("PE_HOSTFILE", "/hostile"),
        ("PE", "hostile"),
    ] {
        job.env(name, value);
    }
    let seen = job.root().join("seen");
    let prolog = job.procedure("prolog", &format!("cat /proc/$$/environ >{}", seen.display()));
    job.set("prolog", &format!("root@{prolog}"));
    job.run().expect_finished(0);
    let seen = fs::read(seen).expect("the prolog told");
    let seen = String::from_utf8_lossy(&seen).replace('\0', "\n");
    let hostile: Vec<_> = seen.lines().filter(|line| line.contains("hostile")).collect();
    assert_eq!(hostile, Vec::<&str>::new(), "of {seen}");
    assert!(seen.lines().any(|line| line == "HOME=/root"), "{seen}");
}

fn the_cell_of_a_root_procedure_is_that_of_execd(case: &Case) {
    let mut job = case.job();
    job.env("SGE_ROOT", "/hostile").env("SGE_CELL", "hostile").env("SGE_EXECD_PORT", "1");
    let told = job.root().join("told");
    let prolog =
        job.procedure("prolog", &format!("echo $SGE_ROOT $SGE_CELL $SGE_EXECD_PORT $1 >{}", told.display()));
    job.set("prolog", &format!("root@{prolog} $sge_root"));
    job.run().expect_finished(0);
    assert_eq!(fs::read_to_string(told).expect("told"), "/var/lib/gridengine default /var/lib/gridengine\n");
}

fn a_huge_environment_is_the_jobs_own_fault(case: &Case) {
    let mut job = case.job();
    for number in 0..70 {
        job.env(&format!("HUGE_{number}"), &"x".repeat(100_000));
    }
    let root = job.procedure("root", "exit 0");
    // The administrator's procedure does not even notice.
    job.set("epilog", &format!("root@{root}"));
    job.run().expect_code(30);
    // One of the owner's cannot be started either: still nothing that closes the queue.
    job.set("prolog", &root);
    job.run().expect_code(30);
}

fn arguments_that_are_too_long_are_the_jobs_own_fault(case: &Case) {
    let mut job = case.job();
    job.args(&[&"x".repeat(200_000)]);
    job.run().expect_code(30);
}
