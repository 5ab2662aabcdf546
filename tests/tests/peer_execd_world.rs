//! What a job sees below a stock execd, and what execd writes for the shepherd.

use oxherd_tests::config::Config;
use oxherd_tests::require::skipped;
use oxherd_tests::{Cluster, Shepherd, Witness, accounts, require, secs, wait_until, witness};

/// What a witness told below a stock execd, with what differs from job to job taken out.
fn world(shepherd: Shepherd) -> Vec<Vec<String>> {
    let cluster = Cluster::start(shepherd);
    let alice = accounts::alice();
    cluster.add_pe("smp", "NONE", "NONE");
    cluster
        .add_queue("all.q", &[("pe_list", "smp"), ("priority", "5"), ("h_vmem", "300M"), ("h_core", "1M")]);
    cluster.add_queue(
        "stdin.q",
        &[("shell_start_mode", "script_from_stdin"), ("s_fsize", "10M"), ("h_stack", "1k")],
    );
    cluster.add_queue("unix.q", &[("shell_start_mode", "unix_behavior"), ("tmpdir", "/tmp")]);
    let submissions: [&[&str]; 5] = [
        &["-q", "all.q", "-v", "LINES_TWO=l1"],
        &["-q", "all.q", "-pe", "smp", "3", "-j", "y"],
        &["-q", "stdin.q", "-p", "-5", "-h", "-r", "y"],
        &["-q", "unix.q", "-t", "2-2", "-A", "acct"],
        &["-q", "all.q", "-S", "/bin/bash", "-notify", "-V"],
    ];
    let tell = |args: &&[&str]| {
        let job = cluster.qsub_as(&alice, args, witness::SCRIPT);
        let _released = cluster.try_q("qrls", &[&job.to_string()]);
        cluster.wait_gone(job);
        let task = if args.contains(&"-t") { ".2" } else { "" };
        let told = Witness::parse(&cluster.lines(&format!("sim.o{job}{task}")).join("\n"));
        let number = job.to_string();
        let gid = told
            .get("groups")
            .split(' ')
            .find(|gid| gid.starts_with("62"))
            .expect("an additional group")
            .to_owned();
        told.normalised(&[
            (&cluster.root().to_string_lossy(), "<root>"),
            (&gid, "<gid>"),
            (&format!("sim.o{number}"), "sim.o<job>"),
            (&format!("sim.e{number}"), "sim.e<job>"),
        ])
    };
    submissions.iter().map(tell).collect()
}

#[test]
fn both_programs_show_jobs_the_same_world() {
    require!(root, peer);
    if !(Shepherd::Theirs.selected() && Shepherd::Ours.selected()) {
        return skipped("OXHERD_UNDER_TEST asks for one program");
    }
    let (theirs, ours) = (world(Shepherd::Theirs), world(Shepherd::Ours));
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let missing: Vec<_> = theirs.iter().filter(|line| !ours.contains(line)).collect();
        let extra: Vec<_> = ours.iter().filter(|line| !theirs.contains(line)).collect();
        assert!(missing.is_empty() && extra.is_empty(), "only theirs: {missing:#?}\nonly ours: {extra:#?}");
    }
}

/// The direct tests stand on this: their `config` is what a real execd writes.
#[test]
fn the_template_has_the_keys_a_stock_execd_writes() {
    require!(root, peer);
    let cluster = Cluster::start(Shepherd::Theirs);
    cluster.add_pe("smp", "NONE", "NONE");
    cluster.add_queue("all.q", &[("pe_list", "smp")]);
    let script = "echo ready >seen.$JOB_ID; until [ -e stop ]; do sleep 0.05; done\n";
    let submit = |args: &[&str]| {
        let job = cluster.qsub_as(&accounts::alice(), args, script);
        cluster.wait_line(&format!("seen.{job}"), "ready");
        std::fs::read_to_string(cluster.job_dir(job, 1).join("config")).expect("the job's config")
    };
    let keys = |text: &str| {
        text.lines().filter_map(|line| line.split(['=', ' ']).next().map(str::to_owned)).collect()
    };
    let plain: Vec<String> = keys(&submit(&["-q", "all.q"]));
    let mut config = Config::from_template(&[]);
    assert_eq!(config.keys(), plain);
    config.set_args(&[]);
    config.set_pe("smp", 2, "", "");
    let parallel: Vec<String> = keys(&submit(&["-q", "all.q", "-pe", "smp", "2"]));
    assert_eq!(config.keys(), parallel);
    std::fs::write(cluster.work().join("stop"), "").expect("let the jobs end");
    wait_until("the jobs to end", secs(30), || cluster.job_states().is_empty());
}
