//! What only a booted machine shows: systemd as process 1, with cgroup v2 and all its controllers.
//!
//! `OXHERD_VM_RUN` names a program that boots one and runs a script in it as root (`PROGRAM --node 1 --share DIR
//! SCRIPT`), with Grid Engine's packages in `/opt/debs`. Without it these tests are skipped.

use std::path::Path;
use std::process::Command;

use oxherd_tests::Shepherd;
use oxherd_tests::require::skipped;

/// Runs a script of `tests/systemd` in a machine that sees our shepherd as `/share/oxherd-shepherd`.
fn in_a_machine(script: &str) {
    let Some(program) = std::env::var_os("OXHERD_VM_RUN") else {
        return skipped("OXHERD_VM_RUN names no program that boots a machine");
    };
    let share = std::env::temp_dir().join(format!("oxherd-vm-{}", std::process::id()));
    std::fs::create_dir(&share).expect("a directory to share");
    std::fs::copy(Shepherd::Ours.path(), share.join("oxherd-shepherd")).expect("copied");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(script);
    let output = Command::new(program).args(["--node", "1", "--share"]).arg(&share).arg(&script).output();
    std::fs::remove_file(share.join("oxherd-shepherd"))
        .and_then(|()| std::fs::remove_dir(&share))
        .expect("removed");
    let output = output.expect("the machine starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("nothing is left"), "the script came to its end: {text}");
}

#[test]
fn systemd_restarts_a_stock_execd_while_a_job_of_ours_runs() {
    in_a_machine("restart_execd.sh");
}
