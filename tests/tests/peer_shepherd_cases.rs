//! Checkpointing, binding, and what else sites and the family's own suite ask of a shepherd; see `docs/cases.md`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use oxherd_tests::require::skipped;
use oxherd_tests::scratch::{directory, file};
use oxherd_tests::wait::stays;
use oxherd_tests::{Case, JobDir, Outcome, accounts, both, millis, ours_only, process, secs, spawn, trapper};
use oxherd_tests::{Stopwatch, wait_until};

both![
    a_userdefined_environment_without_a_signal_leaves_the_job_alone,
    a_transparent_environment_signals_the_job_each_interval,
    an_application_level_environment_runs_its_commands,
    checkpoint_commands_run_below_sh_as_the_owner_with_the_jobs_group,
    a_migration_without_commands_kills_the_job_and_asks_for_a_rerun,
    a_migration_with_a_command_asks_for_a_restart_from_the_checkpoint,
    a_migration_order_ends_an_ordinary_job_as_well,
    a_migration_during_the_prolog_starts_nothing,
    a_deleted_checkpoint_job_is_cleaned_up_and_not_run_again,
    a_checkpoint_job_that_dies_by_itself_is_not_run_again,
    a_binding_chooses_the_processors_of_the_job,
    a_binding_of_the_environment_only_tells_the_job,
    a_binding_that_cannot_be_met_leaves_the_job_unbound,
    published_suspend_and_terminate_scripts_work,
    a_job_that_ignores_what_it_can_is_gone_soon,
    a_method_that_is_a_signal_is_announced_to_and_reaches_every_process,
    an_allocation_beyond_h_vmem_fails_in_the_program,
    the_working_directory_is_entered_with_the_owners_groups,
    ids_can_be_asked_for_although_the_additional_group_has_no_name,
    a_prolog_of_the_owner_cannot_write_the_environment_file,
    what_a_prolog_adds_is_read_as_written,
    the_epilog_knows_how_the_job_was_ended,
    a_login_shell_reads_the_profile_and_another_does_not,
    a_script_without_its_interpreter_is_a_job_error,
    a_starter_may_run_a_copy_and_its_code_is_the_jobs,
    pe_procedures_keep_their_state_in_tmpdir,
    a_prolog_that_may_not_be_executed_starts_no_job,
    a_missing_shell_that_is_not_used_is_no_harm,
    the_trace_tells_the_landmarks_of_a_start,
    a_migration_of_an_ordinary_job_asks_for_no_rerun,
];

ours_only![
    several_cores_and_linear_requests_are_bound_as_asked_for,
    sge_binding_is_set_without_inherited_environment,
    what_is_not_offered_is_a_job_error,
    a_job_that_forks_while_it_is_stopped_stands_still,
    the_shepherd_does_not_care_for_its_name_or_its_output,
    a_prolog_without_its_interpreter_is_a_fault_of_the_queue,
];

/// Turns a job into one of a checkpoint environment, with the keys where execd writes them.
fn checkpointing(job: &mut JobDir, interface: &str, changes: &[(&str, &str)]) {
    let dir = job.work();
    let dir = dir.to_str().expect("text");
    job.set("ckpt_job", "1").env("SGE_CKPT_ENV", "env").env("SGE_CKPT_DIR", dir);
    let keys = [
        ("ckpt_restarted", "0"),
        ("ckpt_pid", "0"),
        ("ckpt_osjobid", "0"),
        ("ckpt_interface", interface),
        ("ckpt_command", "none"),
        ("ckpt_migr_command", "none"),
        ("ckpt_rest_command", "none"),
        ("ckpt_clean_command", "none"),
        ("ckpt_dir", dir),
        ("ckpt_signal", "none"),
        ("ckpt_interval", "0"),
    ];
    let mut after = "ckpt_job";
    for (key, value) in keys {
        job.config.insert(after, key, value);
        after = key;
    }
    for (key, value) in changes {
        job.set(key, value);
    }
}

/// A job of an application-level environment whose commands note their calls; `migrated` is what the migration does.
fn application_level(case: &Case, migrated: &str, interval: &str) -> JobDir {
    let mut job = case.job();
    job.script(trapper::SCRIPT);
    let command =
        |name: &str, more: &str| job.procedure(name, &format!("echo {name} $* $RESTARTED >>calls; {more}"));
    let (ckpt, migr) = (command("ckpt", "exit 0"), command("migr", migrated));
    let clean = command("clean", "exit 0");
    let changes = [
        ("ckpt_command", format!("{ckpt} $job_id $job_pid $ckpt_dir")),
        ("ckpt_migr_command", format!("{migr} $job_pid")),
        ("ckpt_clean_command", format!("{clean} $job_id $ckpt_signal")),
        ("ckpt_interval", interval.to_owned()),
    ];
    let changes: Vec<(&str, &str)> = changes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    checkpointing(&mut job, "application-level", &changes);
    job
}

/// What execd reads after the end: `None` to be done with the job, else start it again, from a checkpoint if `1`.
fn checkpointed(job: &JobDir) -> Option<String> {
    fs::read_to_string(job.path().join("checkpointed")).ok()
}

fn a_userdefined_environment_without_a_signal_leaves_the_job_alone(case: &Case) {
    let mut job = case.job();
    checkpointing(&mut job, "userdefined", &[("ckpt_interval", "1")]);
    job.script(trapper::SCRIPT);
    let mut running = job.start_ready();
    stays("no signal comes", millis(2500), || trapper::seen(&job).is_empty());
    trapper::stop(&job);
    running.end().expect_finished(0);
    assert_eq!(checkpointed(&job), None);
}

fn a_transparent_environment_signals_the_job_each_interval(case: &Case) {
    let mut job = case.job();
    checkpointing(&mut job, "transparent", &[("ckpt_interval", "1"), ("ckpt_signal", "USR2")]);
    job.script(trapper::SCRIPT);
    let mut running = job.start_ready();
    wait_until("two checkpoints", secs(15), || {
        job.lines("seen").iter().filter(|line| *line == "USR2").count() >= 2
    });
    trapper::stop(&job);
    running.end().expect_finished(0);
    assert_eq!(job.lines("seen").iter().find(|line| !["USR2", "ready"].contains(&line.as_str())), None);
    assert_eq!(checkpointed(&job), None);
}

fn an_application_level_environment_runs_its_commands(case: &Case) {
    let job = application_level(case, "exit 0", "1");
    let mut running = job.start_ready();
    let pid = running.job_pid();
    wait_until("a checkpoint", secs(15), || !job.lines("calls").is_empty());
    // If the shepherd died now, the job would start again from this checkpoint.
    wait_until("the mark of it", secs(5), || checkpointed(&job).as_deref() == Some("1\n"));
    trapper::stop(&job);
    running.end().expect_finished(0);
    let mut calls = job.lines("calls");
    assert_eq!(calls.pop(), Some(format!("clean {} none 0", job.id())));
    let ckpt = format!("ckpt {} {pid} {} 0", job.id(), job.work().display());
    assert!(calls.iter().all(|call| *call == ckpt), "{calls:?}, expected {ckpt}");
    assert_eq!(checkpointed(&job), None, "a job that ended is not started again");
}

fn checkpoint_commands_run_below_sh_as_the_owner_with_the_jobs_group(case: &Case) {
    let mut job = case.job();
    let told = "id -un >told; id -G >>told; pwd >>told
        awk -F= '/^ckpt_dir=/ { print $2 }' $SGE_JOB_SPOOL_DIR/config >>told";
    // Shell syntax, which perl would not understand.
    let line = format!("test -n '$job_id' && {}", job.procedure("tell", told));
    let changes = [("ckpt_command", line.as_str()), ("ckpt_interval", "1")];
    checkpointing(&mut job, "application-level", &changes);
    job.set("shell_path", "/usr/bin/perl")
        .script("open F, '>seen'; print F \"ready\\n\"; close F; sleep 60;\n");
    let mut running = job.start_ready();
    wait_until("a checkpoint", secs(15), || job.lines("told").len() == 4);
    running.order_kill();
    running.end().expect_finished(137);
    let told = job.lines("told");
    let work = job.work().display().to_string();
    assert_eq!((told[0].as_str(), &told[2], &told[3]), (job.owner.name.as_str(), &work, &work));
    assert!(told[1].split(' ').any(|gid| gid == job.id().to_string()), "{told:?}");
}

fn a_migration_without_commands_kills_the_job_and_asks_for_a_rerun(case: &Case) {
    for (interface, signal) in [("userdefined", "none"), ("transparent", "USR1")] {
        let mut job = case.job();
        checkpointing(&mut job, interface, &[("ckpt_signal", signal)]);
        job.script(trapper::SCRIPT);
        let mut running = job.start_ready();
        running.send(libc::SIGTTOU);
        running.end().expect_finished(137).expect_usage("signal", "9");
        assert_eq!(checkpointed(&job).as_deref(), Some(""), "{interface}: run again from the beginning");
        assert_eq!(trapper::seen(&job), [""; 0], "{interface}");
    }
}

fn a_migration_with_a_command_asks_for_a_restart_from_the_checkpoint(case: &Case) {
    let job = application_level(case, "/bin/kill -9 -- -$1", "0");
    let mut running = job.start_ready();
    let pid = running.job_pid();
    running.send(libc::SIGTTOU);
    running.end().expect_finished(137);
    assert_eq!(job.lines("calls"), [format!("migr {pid} 0")], "and nothing is cleaned up");
    assert_eq!(checkpointed(&job).as_deref(), Some("1\n"));
}

fn a_migration_order_ends_an_ordinary_job_as_well(case: &Case) {
    let mut job = case.job();
    job.script(trapper::SCRIPT);
    let mut running = job.start_ready();
    running.send(libc::SIGTTOU);
    running.end().expect_finished(137);
    assert_eq!(trapper::seen(&job), [""; 0]);
}

fn a_migration_of_an_ordinary_job_asks_for_no_rerun(case: &Case) {
    let mut job = case.job();
    job.script(trapper::SCRIPT);
    let mut running = job.start_ready();
    running.send(libc::SIGTTOU);
    running.end().expect_finished(137);
    assert_eq!(checkpointed(&job), None);
}

fn a_migration_during_the_prolog_starts_nothing(case: &Case) {
    let mut job = case.job();
    checkpointing(&mut job, "userdefined", &[]);
    let prolog = job.procedure("prolog", "echo ready >seen; until [ -e stop ]; do sleep 0.05; done");
    job.set("prolog", &prolog).script("echo job\n");
    let mut running = job.start_ready();
    running.send(libc::SIGTTOU);
    trapper::stop(&job);
    let outcome = running.end();
    outcome.expect_code(0);
    assert_eq!(job.stdout(), "", "{outcome:#?}");
    assert_eq!(checkpointed(&job).as_deref(), Some(""));
}

fn a_deleted_checkpoint_job_is_cleaned_up_and_not_run_again(case: &Case) {
    let job = application_level(case, "exit 0", "0");
    let mut running = job.start_ready();
    running.order_kill();
    running.end().expect_finished(137);
    assert_eq!(job.lines("calls"), [format!("clean {} none 0", job.id())]);
    assert_eq!(checkpointed(&job), None);
}

fn a_checkpoint_job_that_dies_by_itself_is_not_run_again(case: &Case) {
    for (script, code) in [("exit 3\n", 3), ("kill -TERM $$\n", 143)] {
        let mut job = case.job();
        checkpointing(&mut job, "transparent", &[("ckpt_signal", "USR2"), ("ckpt_interval", "60")]);
        job.script(script);
        job.run().expect_finished(code);
        assert_eq!(checkpointed(&job), None, "{script}");
    }
}

/// The processors of each core of the first socket, as the shepherd counts them; none where the host does not say or
/// the test may not use all of them.
fn cores() -> Vec<Vec<u32>> {
    let topology = |cpu: u32, name: &str| -> Option<i64> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    let mut cores: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    let first = topology(0, "physical_package_id");
    let mut count = 0;
    for cpu in 0..1024 {
        let Some(core) = topology(cpu, "core_id") else { continue };
        count += 1;
        if topology(cpu, "physical_package_id") == first {
            cores.entry(core).or_default().push(cpu);
        }
    }
    let usable = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let usable = usable.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim);
    let all = if count == 1 { "0".to_owned() } else { format!("0-{}", count - 1) };
    let mut cores: Vec<_> = if usable == Some(&all) { cores.into_values().collect() } else { Vec::new() };
    cores.sort();
    cores
}

/// The processors a job with this binding may use, and its SGE_BINDING.
fn bound(case: &Case, binding: &str, inherit: &str) -> (Vec<u32>, String, Outcome) {
    let mut job = case.job();
    job.set("binding", binding).set("inherit_env", inherit);
    job.script("sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status; echo ${SGE_BINDING-unset}\n");
    let outcome = job.run();
    outcome.expect_finished(0);
    let stdout = job.stdout();
    let (allowed, told) = stdout.trim_end().split_once('\n').expect("two lines");
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        from.parse::<u32>().expect("a number")..=to.parse().expect("a number")
    };
    (allowed.split(',').flat_map(range).collect(), told.to_owned(), outcome)
}

fn words(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn a_binding_chooses_the_processors_of_the_job(case: &Case) {
    let cores = cores();
    let [first, ..] = &cores[..] else { return skipped("the topology is not visible or not all ours") };
    let mut rows = vec![("explicit:0,0:ScC", first.clone()), ("striding:1:1:0,0:ScC", first.clone())];
    if let [first, second, ..] = &cores[..] {
        rows.push(("striding:1:1:0,1:SCc", second.clone()));
        rows.push(("explicit:0,1:SCc", second.clone()));
        rows.push(("explicit:0,0:0,1:Scc", [first.clone(), second.clone()].concat()));
    } else {
        skipped("a second core is missing");
    }
    assert_bound(case, &rows);
}

fn assert_bound(case: &Case, rows: &[(&str, Vec<u32>)]) {
    for (binding, expected) in rows {
        let (allowed, told, outcome) = bound(case, binding, "1");
        assert_eq!((&allowed, told), (expected, words(expected)), "{binding}: {outcome:#?}");
    }
}

/// Of these the stock shepherd makes one core too few, or the next ones.
fn several_cores_and_linear_requests_are_bound_as_asked_for(case: &Case) {
    let cores = cores();
    let [first, second, ..] = &cores[..] else {
        return skipped("there are no two cores, or not all are ours");
    };
    let both = [first.clone(), second.clone()].concat();
    assert_bound(
        case,
        &[
            ("linear:1:0,0:ScC", first.clone()),
            ("linear:1:0,1:SCc", second.clone()),
            ("linear:2:0,0:Scc", both.clone()),
            ("striding:2:1:0,0:Scc", both),
        ],
    );
}

fn a_binding_of_the_environment_only_tells_the_job(case: &Case) {
    let cores = cores();
    let [first, ..] = &cores[..] else { return skipped("the topology is not visible or not all ours") };
    let (everything, none, _) = bound(case, "NULL", "1");
    assert_eq!(none, "unset");
    for binding in ["env_explicit:0,0:ScC", "env_striding:1:1:0,0:ScC"] {
        let (allowed, told, outcome) = bound(case, binding, "1");
        assert_eq!((&allowed, told), (&everything, words(first)), "{binding}: {outcome:#?}");
    }
    let (allowed, told, _) = bound(case, "pe_explicit:0,0:ScC", "1");
    assert_eq!((allowed, told.as_str()), (everything, "unset"));
}

fn a_binding_that_cannot_be_met_leaves_the_job_unbound(case: &Case) {
    let (everything, _, _) = bound(case, "NULL", "1");
    for binding in ["explicit:9,7:ScC", "linear:4000:0,0:ScC"] {
        assert_eq!(bound(case, binding, "1").0, everything, "{binding}");
    }
}

fn sge_binding_is_set_without_inherited_environment(case: &Case) {
    let cores = cores();
    let [first, ..] = &cores[..] else { return skipped("the topology is not visible or not all ours") };
    let (allowed, told, _) = bound(case, "explicit:0,0:ScC", "0");
    assert_eq!((&allowed, told), (first, words(first)));
}

fn the_trace_tells_the_landmarks_of_a_start(case: &Case) {
    let mut job = case.job();
    job.args(&["one", "two"]).script("exit 3\n");
    let outcome = job.run();
    outcome.expect_finished(3);
    let (pid, script) = (outcome.job_pid.expect("a job pid"), job.config.get("script_file"));
    let landmarks = [
        format!("shepherd called with uid = 0, euid = {}", job.admin.uid),
        format!("execvlp(/bin/sh, \"-sh\" \"{script}\" \"one\" \"two\")"),
        format!("wait3 returned {pid}"),
        "job exited with exit status 3".to_owned(),
    ];
    // Of two processes, therefore anywhere.
    assert!(outcome.trace.contains(&format!("forked \"job\" with pid {pid}")), "{outcome:#?}");
    let mut rest = outcome.trace.as_str();
    for landmark in landmarks {
        let Some((_, behind)) = rest.split_once(&landmark) else {
            panic!("`{landmark}` is missing or out of order: {outcome:#?}")
        };
        rest = behind;
    }
}

fn published_suspend_and_terminate_scripts_work(case: &Case) {
    let mut job = case.job();
    job.script(trapper::SCRIPT);
    // Four arguments, a process group that is looked for by its number and owner, output nobody reads.
    let body = |signal: &str| {
        format!(
            "echo \"$# $3 $4\" >>calls; pgrep -g $1 -u $3 >/dev/null || exit 1; /bin/kill -{signal} -- -$1"
        )
    };
    let line = |path: String| format!("{path} $job_pid $job_id $job_owner 90");
    let (suspend, end) = (job.procedure("suspend", &body("TSTP")), job.procedure("end", &body("INT")));
    job.set("suspend_method", &line(suspend)).set("terminate_method", &line(end));
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_line("seen", "TSTP");
    running.order_kill();
    running.wait_line("seen", "INT");
    trapper::stop(&job);
    running.end().expect_finished(0);
    let call = format!("4 {} 90", job.owner.name);
    assert_eq!(job.lines("calls"), [call.clone(), call]);
}

fn a_job_that_ignores_what_it_can_is_gone_soon(case: &Case) {
    let mut job = case.job();
    job.script(
        "trap '' HUP INT QUIT TERM USR1 USR2 TSTP TTIN TTOU XCPU\necho ready >seen\nsleep 60 &\nsleep 60\n",
    );
    let mut running = job.start_ready();
    running.order_kill();
    assert!(running.ends_within(secs(2)).is_some(), "{:#?}", running.processes());
    running.end().expect_finished(137);
    assert!(running.remains().is_empty());
}

/// A process that counts its signals; a shell would merge equal ones.
const COUNTER: &str = r#"perl -e '$| = 1; $n = shift; open F, ">>", "counted"; F->autoflush(1);
    for my $s (qw(USR1 TSTP CONT)) { $SIG{$s} = sub { print F "$n $s\n" } }
    print F "$n ready\n"; until (-e "stop") { select undef, undef, undef, 0.05 }' "#;

fn a_method_that_is_a_signal_is_announced_to_and_reaches_every_process(case: &Case) {
    let mut job = case.job();
    job.set("suspend_method", "SIGTSTP").set("notify", "1");
    job.script(&format!("{COUNTER} one &\nsetsid {COUNTER} two &\nexec {COUNTER} leader\n"));
    let mut running = job.start();
    let seen = |signal: &str| {
        let mut names = job.lines("counted");
        names.retain(|line| line.ends_with(signal));
        names.sort();
        // The stock shepherd signals those of the process group twice.
        if !case.ours() {
            names.dedup();
        }
        names
    };
    let all = |signal: &str| ["leader", "one", "two"].map(|name| format!("{name} {signal}"));
    wait_until("three processes", secs(10), || seen("ready").len() == 3);
    running.order_suspend();
    wait_until("the warning", secs(5), || seen("USR1") == all("USR1"));
    assert_eq!(seen("TSTP"), [""; 0], "not before its time");
    wait_until("the method", secs(5), || seen("TSTP") == all("TSTP"));
    running.order_resume();
    wait_until("the resumption", secs(5), || seen("CONT") == all("CONT"));
    trapper::stop(&job);
    running.end().expect_finished(0);
    assert_eq!((seen("USR1"), seen("TSTP")), (all("USR1").to_vec(), all("TSTP").to_vec()));
}

fn an_allocation_beyond_h_vmem_fails_in_the_program(case: &Case) {
    let mut job = case.job();
    let program = "perl -e '$x = \"x\" x 400_000_000' 2>/dev/null";
    job.set("h_vmem", "200M").script(&format!("{program} && echo got it || echo none; exit 9\n"));
    job.run().expect_finished(9).expect_usage("signal", "0");
    assert_eq!(job.stdout(), "none\n");
}

fn the_working_directory_is_entered_with_the_owners_groups(case: &Case) {
    let mut job = case.job();
    let shared = job.root().join("shared");
    directory(&shared, None, 0o770);
    std::os::unix::fs::chown(&shared, Some(0), Some(accounts::gid_of(accounts::EXTRA_GROUP))).expect("chown");
    let path = shared.to_str().expect("text").to_owned();
    job.set("cwd", &path).set("stdout_path", &path).script("pwd; echo there >made\n");
    job.run().expect_finished(0);
    let told = |name: &str| fs::read_to_string(shared.join(name)).expect("the job wrote it");
    assert_eq!(told(&format!("sim.o{}", job.id())) + &told("made"), format!("{path}\nthere\n"));
}

fn ids_can_be_asked_for_although_the_additional_group_has_no_name(case: &Case) {
    let mut job = case.job();
    job.script("set -e; id -un; id -G >groups; exit 5\n");
    job.run().expect_finished(5);
    assert_eq!(job.stdout(), format!("{}\n", job.owner.name));
    assert!(job.read("groups").split_whitespace().any(|gid| gid == job.id().to_string()));
}

fn a_prolog_of_the_owner_cannot_write_the_environment_file(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "(echo A=1 >>$SGE_JOB_SPOOL_DIR/environment) 2>/dev/null; echo $?");
    job.set("prolog", &prolog).script("echo ${A-unset}\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "2\nunset\n");
}

fn what_a_prolog_adds_is_read_as_written(case: &Case) {
    let mut job = case.job();
    let body = "printf '%s\\n' CUDA_VISIBLE_DEVICES=1 'ODD=a b=c  d' CUDA_VISIBLE_DEVICES=1,3 \
                >>$SGE_JOB_SPOOL_DIR/environment";
    let prolog = job.procedure("prolog", body);
    let tell = "echo \"$CUDA_VISIBLE_DEVICES|$ODD\"";
    let epilog = job.procedure("epilog", tell);
    // The admin user may be below the limit: it is the job owner's.
    let (uid, admin) = (job.owner.uid.to_string(), job.admin.name.clone());
    job.set("min_uid", &uid).set("prolog", &format!("{admin}@{prolog}"));
    job.set("epilog", &epilog).script(tell);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "1,3|a b=c  d\n1,3|a b=c  d\n");
}

fn the_epilog_knows_how_the_job_was_ended(case: &Case) {
    for (last, order, code) in [("exec sleep 60", true, 137), ("kill -TERM $$", false, 143)] {
        let mut job = case.job();
        let epilog = job.procedure("epilog", "echo $SGE_JOBEXIT_STAT");
        job.set("epilog", &epilog).script(&format!("echo ready >seen; {last}\n"));
        let mut running = job.start_ready();
        if order {
            running.order_kill();
        }
        running.end().expect_finished(code);
        assert_eq!(job.stdout(), format!("{code}\n"));
    }
}

/// Removes what a first run left in the job directory.
fn fresh(job: &JobDir) {
    for name in ["trace", "error", "exit_status", "usage", "pid", "job_pid", "addgrpid"] {
        let _not_written = fs::remove_file(job.path().join(name));
    }
}

fn a_login_shell_reads_the_profile_and_another_does_not(case: &Case) {
    for (shell, login, expected) in [
        ("/bin/sh", "1", "-sh read"),
        ("/bin/sh", "0", "sh unread"),
        ("/bin/bash", "1", "-bash read"),
        ("/bin/bash", "0", "bash unread"),
    ] {
        let mut job = case.job();
        let home = job.in_work("");
        fs::write(job.work().join(".profile"), "PROFILE=read\n").expect("write");
        job.env("HOME", &home).set("shell_path", shell).set("use_login_shell", login);
        job.script("tr '\\0' '\\n' </proc/$$/cmdline | head -n 1 | tr '\\n' ' '; echo ${PROFILE-unread}\n");
        job.run().expect_finished(0);
        assert_eq!(job.stdout(), format!("{expected}\n"), "{shell} {login}");
    }
}

fn a_script_without_its_interpreter_is_a_job_error(case: &Case) {
    let mut job = case.job();
    job.set("shell_start_mode", "unix_behavior").script("#!/no/such/interpreter -x\nexit 0\n");
    job.run().expect_code(27).expect_error("No such file or directory");
}

fn a_starter_may_run_a_copy_and_its_code_is_the_jobs(case: &Case) {
    let mut job = case.job();
    let body = "case $0 in /*) ;; *) echo \"not absolute: $0\" ;; esac\n\
                cp \"$1\" $TMPDIR/copy; shift; exec sh $TMPDIR/copy \"$@\"";
    let starter = job.procedure("starter", body);
    job.set("starter_method", &starter).args(&["a b", "", "*"]);
    job.script("echo \"$#\"; for arg; do echo \"[$arg]\"; done; exit 7\n");
    job.run().expect_finished(7);
    assert_eq!(job.stdout(), "3\n[a b]\n[]\n[*]\n");
}

fn pe_procedures_keep_their_state_in_tmpdir(case: &Case) {
    let mut job = case.job();
    let work = job.work();
    let state = "$TMPDIR/gpumachine";
    let start = format!("[[ -O $TMPDIR ]] && hostname >{state} || exit -1");
    let stop = format!("[[ $(<{state}) == $(hostname) ]] && cp {state} {}/told || exit -1", work.display());
    for (name, body) in [("start", start), ("stop", stop)] {
        let path = job.root().join("bin").join(name);
        file(&path, &format!("#!/bin/bash\n{body}\n"), None, 0o755);
    }
    job.pe("gpu", 1);
    let path = |name: &str| job.root().join("bin").join(name).display().to_string();
    let (start, stop) = (path("start"), path("stop"));
    job.set("pe_start", &start).set("pe_stop", &stop).script("cat $TMPDIR/gpumachine\n");
    job.run().expect_finished(0);
    let host = format!("{}\n", process::host_name());
    assert_eq!((job.stdout(), job.read("told")), (host.clone(), host));
}

/// A job that must not start, with this file as its prolog.
fn with_prolog(case: &Case, text: &str, mode: u32) -> (JobDir, Outcome) {
    let mut job = case.job();
    let path = job.root().join("bin/prolog");
    file(&path, text, None, mode);
    job.set("prolog", path.to_str().expect("text")).script("echo job\n");
    let outcome = job.run();
    assert_eq!(job.stdout(), "", "{outcome:#?}");
    (job, outcome)
}

fn a_prolog_that_may_not_be_executed_starts_no_job(case: &Case) {
    let (job, outcome) = with_prolog(case, "#!/bin/sh\nexit 0\n", 0o644);
    outcome.expect_code(case.deviates(7, 8)).expect_error(job.config.get("prolog"));
}

fn a_prolog_without_its_interpreter_is_a_fault_of_the_queue(case: &Case) {
    let (job, outcome) = with_prolog(case, "#!/no/such/interpreter\n", 0o755);
    outcome.expect_code(8).expect_error(job.config.get("prolog"));
}

fn a_missing_shell_that_is_not_used_is_no_harm(case: &Case) {
    let mut job = case.job();
    job.set("shell_path", "/no/such/shell").set("shell_start_mode", "unix_behavior");
    job.script("#!/bin/sh\nexit 6\n");
    job.run().expect_finished(6);
}

fn what_is_not_offered_is_a_job_error(case: &Case) {
    for interface in ["hibernator", "cpr"] {
        let mut job = case.job();
        checkpointing(&mut job, interface, &[]);
        job.run().expect_code(30).expect_error(interface);
    }
    for (key, code) in [("use_afs", 29), ("pty", 30)] {
        let mut job = case.job();
        job.set(key, "1").script("echo job\n");
        let outcome = job.run();
        outcome.expect_code(code);
        assert!(!outcome.error.is_empty() && job.stdout().is_empty(), "{key}: {outcome:#?}");
    }
}

fn a_job_that_forks_while_it_is_stopped_stands_still(case: &Case) {
    let mut job = case.job();
    // Each process forks the next one in a session of its own and ends; the newest one counts.
    let link = "use POSIX; $| = 1; open F, '>>', 'links'; F->autoflush(1); print F \"x\\n\";
        while (1) { defined(my $pid = fork) or next; exit if $pid; setsid; print F \"x\\n\"; exit if -e 'stop' }";
    file(&job.work().join("chain.pl"), link, Some(&job.owner), 0o644);
    job.script("perl chain.pl &\necho ready >seen\nuntil [ -e stop ]; do sleep 0.05; done\n");
    let mut running = job.start_ready();
    let links = || fs::metadata(job.work().join("links")).map_or(0, |file| file.len());
    wait_until("the chain to grow", secs(10), || links() > 20);
    running.order_suspend();
    let mut last = (0, Stopwatch::start());
    wait_until("the chain to stand still", secs(5), || {
        if links() != last.0 {
            last = (links(), Stopwatch::start());
        }
        last.1.elapsed() > millis(400)
    });
    let before = links();
    stays("the chain stands still", millis(600), || links() == before);
    running.order_resume();
    wait_until("the chain to go on", secs(5), || links() > before);
    running.order_kill();
    running.end().expect_finished(137);
}

fn the_shepherd_does_not_care_for_its_name_or_its_output(case: &Case) {
    let mut job = case.job();
    job.script("exit 4\n");
    // The first run writes what execd writes.
    job.run().expect_finished(4);
    let wrapper = job.procedure("wrapper", &format!("exec {} \"$@\"", case.shepherd.path().display()));
    let plain = case.shepherd.path().display().to_string();
    for (program, arguments) in
        [(&plain, &[][..]), (&plain, &["-bg"]), (&wrapper, &["-bg"]), (&plain, &["-odd", "x"])]
    {
        fresh(&job);
        let mut command = Command::new(program);
        command.arg0("x").args(arguments).current_dir(job.path()).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("SGE_ROOT", "/var/lib/gridengine")
            .env("SGE_CELL", "default");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        spawn::as_execd(&mut command, &job.admin);
        let output = command.output().expect("it starts");
        Outcome::read(&job.path(), output.status).expect_finished(4);
        let said = [output.stdout, output.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&said), "", "{program} {arguments:?}");
        // Nobody reads.
        fresh(&job);
        let mut closed = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop((closed.stdout.take(), closed.stderr.take()));
        let status = closed.wait().expect("it ends");
        Outcome::read(&job.path(), status).expect_finished(4);
    }
}
