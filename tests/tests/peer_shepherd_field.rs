//! What went wrong at sites, as tests: scripts that read and write the job directory, odd values, hostile ones.

use std::fs;

use oxherd_tests::wait::{poll, stays};
use oxherd_tests::{
    Case, Stopwatch, Witness, accounts, both, millis, ours_only, process, secs, wait_until, witness,
};

both![
    an_epilog_may_rewrite_the_usage_file,
    min_uid_is_for_the_job_owner_only,
    the_job_directory_is_complete_for_the_epilog,
    a_suspended_job_with_children_in_other_sessions_stands_still,
    methods_run_below_sh_whatever_the_shell_of_the_job,
    what_methods_print_does_not_disturb_the_job,
    an_unhandled_warning_ends_the_job,
    names_are_never_formats,
    odd_values_arrive_unchanged,
    variables_that_are_no_identifiers_shift_nothing,
    a_procedure_inherits_nothing_of_execd_when_not_asked,
    hostile_variables_do_not_reach_root,
    a_closed_working_directory_is_a_job_error,
    ksh_is_a_login_shell,
    help_is_answered,
];

ours_only![
    the_time_limit_ends_the_whole_tree_of_a_procedure,
    the_time_limit_of_a_prolog_ends_with_it,
    a_suspend_order_finds_the_job_however_early_it_comes,
    other_wake_ups_do_not_lose_an_announced_suspend,
    a_warning_reaches_each_process_once,
    long_values_arrive_whole,
    a_command_is_a_command_in_every_start_mode,
    another_users_procedure_gets_nothing_hostile,
    a_replaced_result_file_does_not_count,
];

fn an_epilog_may_rewrite_the_usage_file(case: &Case) {
    let mut job = case.job();
    let epilog = job.procedure(
        "epilog",
        "cd $SGE_JOB_SPOOL_DIR; sed -i 's/^ru_utime=.*/ru_utime=12.5/' usage; echo qpu_shots=1000 >>usage",
    );
    job.set("epilog", &format!("root@{epilog}")).script("exit 3\n");
    job.run().expect_finished(3).expect_usage("ru_utime", "12.5").expect_usage("qpu_shots", "1000");
}

fn min_uid_is_for_the_job_owner_only(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "id -u");
    job.set("min_uid", "1000").set("min_gid", "1000").set("prolog", &format!("root@{prolog}"));
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "0\n");
}

fn the_job_directory_is_complete_for_the_epilog(case: &Case) {
    let mut job = case.job();
    let names = "config environment pe_hostfile pid job_pid addgrpid usage";
    let epilog = job
        .procedure("epilog", &format!("cd $SGE_JOB_SPOOL_DIR && stat -c '%n %U %a' {names}; cat addgrpid"));
    let script = "awk -F= '/^add_grp_id=/ { print $2 }' $SGE_JOB_SPOOL_DIR/config; cat $SGE_JOB_SPOOL_DIR/job_pid; echo $$\n";
    job.set("epilog", &epilog).script(script);
    job.run().expect_finished(0);
    let stdout = job.stdout();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], job.id().to_string(), "add_grp_id of the config");
    assert_eq!(lines[1], lines[2], "job_pid is the job");
    let expected: Vec<String> =
        names.split(' ').map(|name| format!("{name} {} 644", job.admin.name)).collect();
    assert_eq!(lines[3..10], expected);
    assert_eq!(lines[10], job.id().to_string());
}

fn a_suspended_job_with_children_in_other_sessions_stands_still(case: &Case) {
    let mut job = case.job();
    let tick = "while [ ! -e stop ]; do echo tick >>$1; sleep 0.05; done";
    job.script(&format!("setsid sh -c '{tick}' sh other &\nset -- own\necho ready >seen\n{tick}\nwait\n"));
    let mut running = job.start_ready();
    let grown = |than: (usize, usize)| job.lines("own").len() > than.0 && job.lines("other").len() > than.1;
    wait_until("both to tick", secs(10), || grown((0, 0)));
    running.order_suspend();
    let moving = || {
        running.processes().into_iter().filter(|process| !process::stopped(process.pid)).collect::<Vec<_>>()
    };
    let stopped = poll(secs(3), || moving().is_empty().then_some(()));
    assert!(stopped.is_some(), "all are stopped but {:?}", moving());
    let before = (job.lines("own").len(), job.lines("other").len());
    stays("nothing grows", millis(600), || (job.lines("own").len(), job.lines("other").len()) == before);
    running.order_resume();
    wait_until("both to go on", secs(5), || grown(before));
    oxherd_tests::trapper::stop(&job);
    running.end().expect_finished(0);
}

fn methods_run_below_sh_whatever_the_shell_of_the_job(case: &Case) {
    let mut job = case.job();
    job.set("shell_path", "/usr/bin/perl")
        .script("open F, '>seen'; print F \"ready\\n\"; close F; sleep 60;\n");
    job.set("terminate_method", "/bin/kill -9 -- -$job_pid");
    let mut running = job.start_ready();
    running.order_kill();
    running.end().expect_finished(137);
}

fn what_methods_print_does_not_disturb_the_job(case: &Case) {
    let mut job = case.job();
    let method = job.procedure("method", "echo out; echo err >&2; cat; echo done >>calls");
    job.set("suspend_method", &method)
        .script("echo ready >seen; until [ -e stop ]; do sleep 0.05; done; echo job\n");
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_line("calls", "done");
    oxherd_tests::trapper::stop(&job);
    running.end().expect_finished(0);
    assert_eq!((job.stdout().as_str(), job.stderr().as_str()), ("job\n", ""));
}

fn an_unhandled_warning_ends_the_job(case: &Case) {
    let mut job = case.job();
    job.set("notify", "30").script("echo ready >seen; exec sleep 60\n");
    let mut running = job.start_ready();
    running.order_suspend();
    running.end().expect_finished(138).expect_usage("signal", "10");
}

fn names_are_never_formats(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", r#"printf '%s\n' "$1""#);
    let name = "%s%n%100d`id`";
    job.set("job_name", name)
        .set("prolog", &format!("{prolog} $job_name"))
        .env("ODD", "%s%n${x}$(id)`id`'\"");
    job.script("printf '%s\\n' \"$ODD\"\n");
    job.run().expect_finished(0);
    assert_eq!(job.read(&format!("{name}.o{}", job.id())), format!("{name}\n%s%n${{x}}$(id)`id`'\"\n"));
}

fn odd_values_arrive_unchanged(case: &Case) {
    let values =
        ["a\nb=c", "end\n", "\n", "\\n", "\\\\n", "cr\r\n", " lead", "trail ", "a=b", "ü", &"x".repeat(9000)];
    let mut job = case.job();
    for (number, value) in values.iter().enumerate() {
        job.env(&format!("V{number}"), value);
    }
    let script: String = (0..values.len()).map(|number| format!("printf '%s|' \"$V{number}\"\n")).collect();
    job.script(&script);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), values.map(|value| format!("{value}|")).concat());
}

fn variables_that_are_no_identifiers_shift_nothing(case: &Case) {
    let mut job = case.job();
    job.env("BEFORE", "1").env("BASH_FUNC_f%%", "() { echo hi;\n}").env("AFTER", "2");
    job.script("echo $BEFORE $AFTER\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "1 2\n");
}

fn a_procedure_inherits_nothing_of_execd_when_not_asked(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "echo ${OF_EXECD-unset}");
    job.execd_env("OF_EXECD", "leak").set("inherit_env", "0").set("prolog", &prolog);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "unset\n");
}

/// What a user could use to run code of his own in somebody else's process.
const HOSTILE: [&str; 9] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "TZDIR",
    "NLSPATH",
    "GCONV_PATH",
];

fn hostile_told(case: &Case, user: &str) -> Vec<String> {
    let mut job = case.job();
    let prolog = job.procedure("prolog", witness::SCRIPT);
    job.set("prolog", &format!("{user}@{prolog}"));
    for name in HOSTILE {
        job.env(name, "/nonexistent/hostile");
    }
    job.run().expect_finished(0);
    let told = Witness::parse(&job.stdout());
    assert!(told.environment().contains_key("JOB_ID"), "it has the job's own variables: {told:?}");
    let names = told.environment().into_keys().filter(|name| HOSTILE.contains(name));
    names.map(str::to_owned).collect()
}

fn hostile_variables_do_not_reach_root(case: &Case) {
    assert_eq!(hostile_told(case, "root"), Vec::<String>::new());
}

fn another_users_procedure_gets_nothing_hostile(case: &Case) {
    assert_eq!(hostile_told(case, accounts::BOB), Vec::<String>::new());
}

fn a_closed_working_directory_is_a_job_error(case: &Case) {
    let mut job = case.job();
    let closed = job.root().join("closed");
    oxherd_tests::scratch::directory(&closed, None, 0o700);
    job.set("cwd", &closed.to_string_lossy());
    job.run().expect_code(28).expect_error("Permission denied");
}

fn ksh_is_a_login_shell(case: &Case) {
    let mut job = case.job();
    job.set("shell_path", "/bin/ksh").script("tr '\\0' '\\n' </proc/$$/cmdline\nexit 0\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), format!("-ksh\n{}\n", job.config.get("script_file")));
}

fn help_is_answered(case: &Case) {
    let output = std::process::Command::new(case.shepherd.path()).arg("-help").output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let text = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8_lossy(&text).contains("shepherd"), "{}", String::from_utf8_lossy(&text));
    if case.ours() {
        // Called by hand, and not in a job directory: nothing is written there.
        let place = std::env::temp_dir().join(format!("oxherd-no-job.{}", std::process::id()));
        fs::create_dir(&place).expect("a directory");
        let run = |argument: &str| {
            let mut command = std::process::Command::new(case.shepherd.path());
            command.current_dir(&place).arg(argument).output().expect("it starts")
        };
        let (version, stranger) = (run("-version"), run("-bg"));
        fs::remove_dir(&place).expect("it is empty");
        assert!(version.status.success() && version.stdout.starts_with(b"oxherd-shepherd "), "{version:?}");
        assert_eq!(stranger.status.code(), Some(7), "{stranger:?}");
    }
}

fn the_time_limit_ends_the_whole_tree_of_a_procedure(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "sleep 60 & sleep 60");
    job.set("prolog", &prolog).set("script_timeout", "2");
    let watch = Stopwatch::start();
    let mut running = job.start();
    let outcome = running.end();
    outcome.expect_code(8).expect_error("script_timeout");
    assert!(watch.elapsed() >= secs(2) && watch.elapsed() < secs(12), "{:?}", watch.elapsed());
    assert!(running.remains().is_empty(), "{:?}", running.remains());
}

fn the_time_limit_of_a_prolog_ends_with_it(case: &Case) {
    let mut job = case.job();
    let prolog = job.procedure("prolog", "sleep 0.5");
    job.set("prolog", &prolog).set("script_timeout", "1").script("sleep 2; exit 5\n");
    job.run().expect_finished(5);
}

fn a_suspend_order_finds_the_job_however_early_it_comes(case: &Case) {
    for pause in [0, 0, 0, 2, 5, 10, 20, 50] {
        let mut job = case.job();
        job.script("echo ready >seen; exec sleep 60\n");
        let mut running = job.start();
        stays("", millis(pause), || true);
        running.order_suspend();
        let pid = running.job_pid();
        running.wait_stopped(secs(2));
        running.order_resume();
        wait_until("the job to go on", secs(2), || !process::stopped(pid));
        running.order_kill();
        running.end().expect_finished(137);
    }
}

fn other_wake_ups_do_not_lose_an_announced_suspend(case: &Case) {
    let mut job = case.job();
    job.set("notify", "2");
    job.script("trap 'echo USR1 >>seen' USR1; trap 'echo XCPU >>seen' XCPU; echo ready >seen\nwhile :; do sleep 0.05; done\n");
    let mut running = job.start_ready();
    let watch = Stopwatch::start();
    running.order_suspend();
    running.wait_line("seen", "USR1");
    running.send(libc::SIGUSR2);
    running.wait_line("seen", "XCPU");
    running.wait_stopped(secs(5));
    let took = watch.elapsed();
    assert!(took >= millis(1950) && took < millis(3500), "{took:?}");
    running.order_kill();
    running.end().expect_code(0);
}

fn a_warning_reaches_each_process_once(case: &Case) {
    let mut job = case.job();
    job.set("notify", "2");
    let counter = r#"perl -e '$| = 1; $n = shift; open F, ">>", "warned"; F->autoflush(1);
        $SIG{USR2} = sub { print F "$n\n" }; print F "ready\n"; sleep 1 while 1' "#;
    job.script(&format!(
        "trap : USR2\n{counter} one &\n{counter} two &\nsetsid {counter} three &\nwait; wait; wait\n"
    ));
    let mut running = job.start();
    let count = |line: &str| job.lines("warned").iter().filter(|known| *known == line).count();
    wait_until("three processes", secs(10), || count("ready") == 3);
    running.order_kill();
    running.end().expect_finished(137);
    assert_eq!((count("one"), count("two"), count("three")), (1, 1, 1), "{:?}", job.lines("warned"));
}

fn long_values_arrive_whole(case: &Case) {
    for length in [9_990, 10_000, 20_000, 120_000] {
        let mut job = case.job();
        let value = "v".repeat(length);
        job.env("LONG", &value).args(&[&value]).script("echo ${#LONG} ${#1} $AFTER\n").env("AFTER", "after");
        job.run().expect_finished(0);
        assert_eq!(job.stdout(), format!("{length} {length} after\n"));
    }
}

fn a_command_is_a_command_in_every_start_mode(case: &Case) {
    let mut job = case.job();
    job.set("shell_start_mode", "script_from_stdin").command("/bin/echo", &["a b"], true);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "a b\n");
}

fn a_replaced_result_file_does_not_count(case: &Case) {
    let attacks = [
        "rm -f exit_status error usage; ln -s /etc/shadow exit_status; ln -s /etc/shadow error",
        "mv exit_status x; mkdir exit_status; mkdir usage",
        "for n in exit_status error usage addgrpid; do echo 7 >$n; done; chmod 666 exit_status",
    ];
    for attack in attacks {
        let mut job = case.job();
        let shadow = fs::read("/etc/shadow").expect("root reads it");
        job.script(&format!("cd $SGE_JOB_SPOOL_DIR; ({attack}) 2>/dev/null; exit 3\n"));
        job.run().expect_finished(3);
        assert_eq!(fs::read("/etc/shadow").expect("root reads it"), shadow);
    }
}
