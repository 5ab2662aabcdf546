//! suspend_method, resume_method and terminate_method.

use oxherd_tests::trapper::{self, seen, stop, wait_seen};
use oxherd_tests::wait::stays;
use oxherd_tests::{
    Case, JobDir, Stopwatch, Witness, both, millis, ours_only, process, secs, wait_until, witness,
};

both![
    methods_can_be_signals,
    a_terminate_signal_that_is_ignored_leaves_the_job_alone,
    a_method_runs_as_the_owner_beside_the_job,
    methods_see_their_variables,
    a_terminate_script_may_kill_the_job,
    a_missing_suspend_method_is_no_harm,
    a_terminate_script_that_fails_is_called_again,
    a_running_method_is_not_started_twice,
    the_end_waits_for_a_running_method,
    the_notify_time_comes_before_the_method,
    a_wrong_method_value,
];

ours_only![the_usage_is_that_of_the_job_not_of_a_method, an_unknown_variable_in_a_method_is_no_harm];

fn trapping(case: &Case) -> JobDir {
    let mut job = case.job();
    job.script(trapper::SCRIPT);
    job
}

fn methods_can_be_signals(case: &Case) {
    let mut job = trapping(case);
    job.set("suspend_method", "SIGTSTP").set("resume_method", "SIGUSR1").set("terminate_method", "15");
    let mut running = job.start_ready();
    running.order_suspend();
    wait_seen(&job, &["TSTP"]);
    running.order_resume();
    wait_seen(&job, &["TSTP", "USR1"]);
    running.order_kill();
    wait_seen(&job, &["TSTP", "USR1", "TERM"]);
    stop(&job);
    running.end().expect_finished(0);
}

fn a_terminate_signal_that_is_ignored_leaves_the_job_alone(case: &Case) {
    let mut job = trapping(case);
    job.set("terminate_method", "SIGTERM");
    let mut running = job.start_ready();
    running.order_kill();
    wait_seen(&job, &["TERM"]);
    stays("the job runs on", secs(1), || running.is_running());
    stop(&job);
    running.end().expect_finished(0);
}

fn a_method_runs_as_the_owner_beside_the_job(case: &Case) {
    let mut job = trapping(case);
    let method = job.procedure("method", &format!("exec >told\n{}\necho done >>seen", witness::SCRIPT));
    job.set("suspend_method", &method).set("priority", "4").set("h_fsize", "1g");
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_line("seen", "done");
    let told = Witness::parse(&job.read("told"));
    let (uid, gid) = (job.owner.uid, job.owner.gid);
    assert_eq!(told.get("Uid"), format!("{uid}\t{uid}\t{uid}\t{uid}"));
    assert_eq!(told.get("Gid"), format!("{gid}\t{gid}\t{gid}\t{gid}"));
    let group = job.id().to_string();
    assert!(told.get("groups").split(' ').any(|gid| gid == group), "{told:?}");
    assert_eq!(told.get("cwd"), job.work().to_str().expect("text"));
    assert_eq!((told.get("nice"), told.get("umask")), ("4", "0022"));
    assert_eq!(told.limit("file size").1, "1000000000");
    assert_ne!(told.get("pgid"), running.job_pid().to_string(), "not the job's group");
    assert_ne!(told.get("pgid"), running.pid().to_string(), "nor the shepherd's");
    assert_ne!(told.get("sid"), running.job_pid().to_string(), "not the job's session");
    assert!(told.all("fd").contains(&"0 /dev/null") && told.all("fd").contains(&"2 /dev/null"), "{told:?}");
    assert_eq!((told.get("SigBlk"), told.get("SigIgn")), ("0000000000000000", "0000000000000000"));
    assert_eq!(told.environment().get("JOB_NAME"), Some(&"sim"));
    assert_eq!(told.environment().get("SGE_STDOUT_PATH"), None);
    let pid = running.job_pid();
    assert_eq!(
        process::Process::read(pid).map(|process| process.state == 'T'),
        Some(false),
        "the method replaces STOP"
    );
    stop(&job);
    running.end().expect_finished(0);
}

fn methods_see_their_variables(case: &Case) {
    let mut job = trapping(case);
    let method = job.procedure("method", r#"printf '[%s]' "$@" >args; echo done >>seen"#);
    let names = "$host $ja_task_id $job_owner $job_id $job_name $queue $job_pid";
    job.set("suspend_method", &format!("{method} {names} 'a b'; echo shell >shell"));
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_line("seen", "done");
    let (host, id, pid) = (process::host_name(), job.id(), running.job_pid());
    let owner = &job.owner.name;
    wait_until("the rest of the line to run in the shell", secs(5), || job.read("shell") == "shell\n");
    assert_eq!(job.read("args"), format!("[{host}][0][{owner}][{id}][sim][all.q][{pid}][a b]"));
    stop(&job);
    running.end();
}

fn a_terminate_script_may_kill_the_job(case: &Case) {
    let mut job = trapping(case);
    job.set("terminate_method", "/bin/kill -9 -- -$job_pid");
    let mut running = job.start_ready();
    running.order_kill();
    running.end().expect_finished(137).expect_usage("signal", "9");
}

fn a_missing_suspend_method_is_no_harm(case: &Case) {
    let mut job = trapping(case);
    job.set("suspend_method", "/no/such/method");
    let mut running = job.start_ready();
    let pid = running.job_pid();
    running.order_suspend();
    stays("the job is not stopped", millis(500), || {
        process::Process::read(pid).is_some_and(|process| process.state != 'T')
    });
    stop(&job);
    running.end().expect_finished(0);
}

fn a_terminate_script_that_fails_is_called_again(case: &Case) {
    let mut job = trapping(case);
    let method = job.procedure("method", "echo method >>calls; exit 3");
    job.set("terminate_method", &method);
    let mut running = job.start_ready();
    running.order_kill();
    running.wait_line("calls", "method");
    assert!(running.is_running());
    // Execd repeats the order; the repetition rule of ten seconds is for the shepherd's own KILL.
    wait_until("a second call", secs(15), || {
        running.order_kill();
        stays("", millis(300), || true);
        job.lines("calls").len() >= 2
    });
    stop(&job);
    running.end().expect_finished(0);
}

fn a_running_method_is_not_started_twice(case: &Case) {
    let mut job = trapping(case);
    let method = job
        .procedure("method", "echo method >>calls; until [ -e go ]; do sleep 0.05; done; echo done >>calls");
    job.set("suspend_method", &method);
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_line("calls", "method");
    running.order_suspend();
    stays("one call", secs(1), || job.lines("calls") == ["method"]);
    std::fs::write(job.work().join("go"), "").expect("let the method end");
    running.wait_line("calls", "done");
    stop(&job);
    running.end().expect_finished(0);
}

fn the_end_waits_for_a_running_method(case: &Case) {
    let mut job = trapping(case);
    let method = job.procedure("method", "echo method >>calls; sleep 2; echo done >>calls");
    job.set("terminate_method", &method);
    let mut running = job.start_ready();
    running.order_kill();
    running.wait_line("calls", "method");
    stop(&job);
    running.end().expect_code(0);
    let calls = job.lines("calls");
    assert_eq!(calls, ["method", "done"], "the method ran to its end");
}

fn the_notify_time_comes_before_the_method(case: &Case) {
    let mut job = trapping(case);
    job.set("terminate_method", "SIGTERM").set("notify", "1");
    let mut running = job.start_ready();
    let watch = Stopwatch::start();
    running.order_kill();
    wait_seen(&job, &["USR2"]);
    wait_seen(&job, &["USR2", "TERM"]);
    assert!(watch.elapsed() >= millis(900), "{:?}", watch.elapsed());
    stop(&job);
    running.end().expect_finished(0);
}

fn a_wrong_method_value(case: &Case) {
    let mut job = case.job();
    job.set("terminate_method", "SIGFOO");
    let outcome = job.run();
    if case.ours() {
        assert!(matches!(outcome.code(), 0 | 8 | 11), "never a fault of the whole host: {outcome:?}");
    } else {
        assert_eq!(outcome.code(), 7, "{outcome:?}");
    }
}

fn the_usage_is_that_of_the_job_not_of_a_method(case: &Case) {
    let mut job = trapping(case);
    let method = job.procedure("method", "echo method >>calls; sleep 3");
    job.set("terminate_method", &method);
    let mut running = job.start_ready();
    running.order_kill();
    running.wait_line("calls", "method");
    stop(&job);
    let outcome = running.end();
    outcome.expect_finished(0);
    assert!(outcome.usage_number("ru_wallclock") <= 2.0, "the clock stops at the job's exit: {outcome:?}");
}

fn an_unknown_variable_in_a_method_is_no_harm(case: &Case) {
    let mut job = trapping(case);
    let method = job.procedure("method", r#"echo "$*" >>calls"#);
    job.set("suspend_method", &format!("{method} '$nosuchvar' $sge_root $sge_cell"));
    let mut running = job.start_ready();
    running.order_suspend();
    running.wait_line("calls", "$nosuchvar /var/lib/gridengine default");
    assert_eq!(seen(&job), Vec::<String>::new());
    stop(&job);
    running.end().expect_finished(0);
}
