//! The command line of the job: shells, start modes, arguments, starter.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use oxherd_tests::{Case, JobDir, Witness, both, witness};

/// Prints its arguments in brackets.
const BRACKETS: &str = r#"for arg in "$@"; do printf '[%s]\n' "$arg"; done"#;
const PERL: &str = "#!/usr/bin/env perl\nmy $x = 1; print \"perl $0 @ARGV\\n\";\n";

both![
    a_missing_shell_is_told,
    csh_is_a_login_shell,
    a_shell_outside_login_shells_is_called_by_its_name,
    a_command_below_the_shell_is_one_joined_line,
    a_command_without_the_shell_keeps_its_arguments,
    a_missing_command_below_the_shell_is_exit_127,
    a_missing_command_without_the_shell_is_told,
    a_command_without_the_shell_is_searched_in_path,
    script_arguments_arrive_unchanged,
    unix_behavior_uses_the_interpreter_line,
    unix_behavior_without_interpreter_line_runs_sh,
    posix_compliant_ignores_the_interpreter_line,
    script_from_stdin_gives_the_script_as_descriptor_0,
    script_from_stdin_leaves_the_rest_to_cat,
    a_starter_method_gets_script_and_arguments,
    a_starter_method_gets_s_for_script_from_stdin,
    a_starter_method_gets_the_command_exactly,
    a_missing_starter_method_is_told,
    a_script_that_is_not_executable_is_refused,
    an_unreadable_script_fails_in_its_shell,
    an_unreadable_script_cannot_be_stdin,
];

fn cmdline(job: &JobDir) -> Vec<String> {
    Witness::parse(&job.stdout()).all("cmdline").into_iter().map(str::to_owned).collect()
}

fn a_missing_shell_is_told(case: &Case) {
    let mut job = case.job();
    job.set("shell_path", "/no/such/shell");
    job.run().expect_code(27).expect_error(r#"unable to find shell "/no/such/shell""#);
}

fn csh_is_a_login_shell(case: &Case) {
    let mut job = case.job();
    job.set("shell_path", "/bin/csh").env("SHELL", "/bin/csh").args(&["a"]);
    job.script("tr '\\0' '\\n' </proc/$$/cmdline\necho $SHELL\n");
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), format!("-csh\n{}\na\n/bin/csh\n", job.config.get("script_file")));
}

fn a_shell_outside_login_shells_is_called_by_its_name(case: &Case) {
    let mut job = case.job();
    job.set("use_login_shell", "0").script(witness::SCRIPT);
    job.run().expect_finished(0);
    assert_eq!(cmdline(&job), ["sh", job.config.get("script_file")]);
}

fn a_command_below_the_shell_is_one_joined_line(case: &Case) {
    let mut job = case.job();
    job.command("/bin/echo", &["a b", "$HOME", "c;d", ""], false);
    job.run().expect_finished(127);
    assert_eq!(job.stdout(), format!("a b {} c\n", job.owner.home.display()));
}

fn a_command_without_the_shell_keeps_its_arguments(case: &Case) {
    let mut job = case.job();
    let brackets = job.procedure("brackets", BRACKETS);
    job.command(&brackets, &["a b", "$HOME", "c;d", ""], true);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "[a b]\n[$HOME]\n[c;d]\n[]\n");
}

fn a_missing_command_below_the_shell_is_exit_127(case: &Case) {
    let mut job = case.job();
    job.command("/no/such", &[], false);
    job.run().expect_finished(127);
}

fn a_missing_command_without_the_shell_is_told(case: &Case) {
    let mut job = case.job();
    job.command("/no/such", &[], true);
    job.run().expect_code(27).expect_error("/no/such").expect_error("No such file or directory");
}

fn a_command_without_the_shell_is_searched_in_path(case: &Case) {
    let mut job = case.job();
    job.command("echo", &["found"], true);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "found\n");
}

fn script_arguments_arrive_unchanged(case: &Case) {
    let args = ["a b", "$HOME", "q'q", "", "x\ty", "=x", " y", "a=b", "= z", "tab\t", "\\n", "\\", "ü"];
    let mut job = case.job();
    job.script(BRACKETS).args(&args);
    job.run().expect_finished(0);
    let expected: String = args.iter().map(|arg| format!("[{arg}]\n")).collect();
    assert_eq!(job.stdout(), expected);
}

fn unix_behavior_uses_the_interpreter_line(case: &Case) {
    let mut job = case.job();
    job.set("shell_start_mode", "unix_behavior").script(PERL).args(&["a"]);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), format!("perl {} a\n", job.config.get("script_file")));
}

fn unix_behavior_without_interpreter_line_runs_sh(case: &Case) {
    let mut job = case.job();
    job.set("shell_start_mode", "unix_behavior").script(witness::SCRIPT).args(&["a"]);
    job.run().expect_finished(0);
    assert_eq!(cmdline(&job), ["/bin/sh", job.config.get("script_file"), "a"]);
}

fn posix_compliant_ignores_the_interpreter_line(case: &Case) {
    let mut job = case.job();
    job.script("#!/usr/bin/env perl\nmy ($x) = (1;\n");
    job.run().expect_finished(2);
}

fn script_from_stdin_gives_the_script_as_descriptor_0(case: &Case) {
    let mut job = case.job();
    job.set("shell_start_mode", "script_from_stdin").script(witness::SCRIPT).args(&["a", "b c", "-x"]);
    job.run().expect_finished(0);
    assert_eq!(cmdline(&job), ["-sh", "-s", "a", "b c", "-x"]);
    let witness = Witness::parse(&job.stdout());
    assert_eq!(witness.all("arg"), ["a", "b c", "-x"]);
    let stdin = format!("0 {}", job.config.get("script_file"));
    assert!(witness.all("fd").contains(&stdin.as_str()), "{witness:#?}");
}

fn script_from_stdin_leaves_the_rest_to_cat(case: &Case) {
    let mut job = case.job();
    // dash reads its script in blocks: only what lies beyond the first one is left for cat.
    let filler = "#\n".repeat(8192);
    job.set("shell_start_mode", "script_from_stdin")
        .script(&format!("cat >rest; exit 0\n{filler}echo never\n"));
    job.run().expect_finished(0);
    assert!(job.read("rest").ends_with("echo never\n"), "cat got the rest");
    assert_eq!(job.stdout(), "");
}

/// A starter that prints its arguments and the variables made for it.
fn starter(job: &mut JobDir) {
    let body = format!(
        "tr '\\0' '\\n' </proc/$$/cmdline | head -n 1\n{BRACKETS}\n\
         echo $SGE_STARTER_SHELL_PATH $SGE_STARTER_SHELL_START_MODE $SGE_STARTER_USE_LOGIN_SHELL"
    );
    let path = job.procedure("starter", &body);
    job.set("starter_method", &path);
}

fn a_starter_method_gets_script_and_arguments(case: &Case) {
    for mode in ["posix_compliant", "unix_behavior"] {
        let mut job = case.job();
        starter(&mut job);
        job.set("shell_start_mode", mode).args(&["a b"]);
        job.run().expect_finished(0);
        let script = job.config.get("script_file");
        let expected = format!("/bin/sh\n[{script}]\n[a b]\n/bin/sh {mode} true\n");
        assert_eq!(job.stdout(), expected, "{mode}");
    }
}

fn a_starter_method_gets_s_for_script_from_stdin(case: &Case) {
    let mut job = case.job();
    starter(&mut job);
    job.set("shell_start_mode", "script_from_stdin").set("use_login_shell", "0").args(&["a b"]);
    job.run().expect_finished(0);
    assert_eq!(job.stdout(), "/bin/sh\n[-s]\n[a b]\n/bin/sh script_from_stdin false\n");
}

fn a_starter_method_gets_the_command_exactly(case: &Case) {
    for no_shell in [false, true] {
        let mut job = case.job();
        starter(&mut job);
        job.command("/bin/echo", &["a b", "c"], no_shell);
        job.run().expect_finished(0);
        assert_eq!(job.stdout(), "/bin/sh\n[/bin/echo]\n[a b]\n[c]\n/bin/sh posix_compliant true\n");
    }
}

fn a_missing_starter_method_is_told(case: &Case) {
    let mut job = case.job();
    job.set("starter_method", "/no/such/starter");
    job.run().expect_code(27).expect_error("/no/such/starter");
}

fn chmod_script(job: &JobDir, mode: u32) {
    fs::set_permissions(job.config.get("script_file"), fs::Permissions::from_mode(mode)).expect("chmod");
}

fn a_script_that_is_not_executable_is_refused(case: &Case) {
    for mode in ["posix_compliant", "unix_behavior"] {
        let mut job = case.job();
        job.set("shell_start_mode", mode);
        chmod_script(&job, 0o644);
        let text = format!(r#"job file "{}" is not executable"#, job.config.get("script_file"));
        job.run().expect_code(11).expect_error(&text);
    }
}

fn an_unreadable_script_fails_in_its_shell(case: &Case) {
    let mut job = case.job();
    job.set("shell_start_mode", "posix_compliant");
    chmod_script(&job, 0o711);
    job.run().expect_finished(2);
}

fn an_unreadable_script_cannot_be_stdin(case: &Case) {
    let mut job = case.job();
    job.set("shell_start_mode", "script_from_stdin");
    chmod_script(&job, 0o711);
    job.run().expect_code(11).expect_error("can't open job script file");
}
