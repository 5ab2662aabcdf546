//! How ends of jobs show in qstat and qacct below a stock execd and qmaster.

use oxherd_tests::{Case, Cluster, accounts, both, secs, wait::poll};

both![every_end_has_its_record_and_its_states, faults_of_one_queue_stay_in_it];

/// What is submitted.
enum What {
    Script(&'static str),
    Line(&'static [&'static str]),
}

/// A job in a queue of its own and what becomes of both.
struct Row {
    name: &'static str,
    queue: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    what: What,
    /// State of the job in the end, empty when it is finished.
    job: &'static str,
    /// State of its queue in the end.
    queue_state: &'static str,
    /// `failed` and `exit_status` of each record.
    records: &'static [(&'static str, &'static str)],
}

const fn row(name: &'static str, what: What) -> Row {
    Row { name, queue: &[], args: &[], what, job: "", queue_state: "", records: &[] }
}

impl Row {
    const fn queue(mut self, attributes: &'static [(&'static str, &'static str)]) -> Self {
        self.queue = attributes;
        self
    }

    const fn args(mut self, args: &'static [&'static str]) -> Self {
        self.args = args;
        self
    }

    const fn ends(
        mut self,
        job: &'static str,
        queue: &'static str,
        records: &'static [(&'static str, &'static str)],
    ) -> Self {
        (self.job, self.queue_state, self.records) = (job, queue, records);
        self
    }
}

use What::{Line, Script};

const SEVEN: What = Script("exit 7\n");

/// `@NAME@` in a queue attribute is a procedure that exits with the number in its name.
const ROWS: &[Row] = &[
    row("exit0", Script("exit 0\n")).ends("", "", &[("0", "0")]),
    row("exit3", Script("exit 3\n")).ends("", "", &[("0", "3")]),
    row("exit99once", Script("[ $RESTARTED = 1 ] && exit 0; exit 99\n")).ends(
        "",
        "",
        &[("25", "99"), ("0", "0")],
    ),
    row("exit100", Script("exit 100\n")).ends("Eqw", "", &[("30", "100")]),
    row("kill", Script("kill -9 $$\n")).ends("", "", &[("100", "137")]),
    row("segv", Script("ulimit -c 0; kill -SEGV $$\n")).ends("", "", &[("100", "139")]),
    row("usr1", Script("kill -USR1 $$\n")).ends("", "", &[("100", "138")]),
    row("prolog1", SEVEN).queue(&[("prolog", "@exit1@")]).ends("qw", "E", &[("8", "0")]),
    row("prolog100", SEVEN).queue(&[("prolog", "@exit100@")]).ends("Eqw", "", &[("30", "0")]),
    row("epilog1", SEVEN).queue(&[("epilog", "@exit1@")]).ends("qw", "E", &[("15", "0")]),
    row("epilog100", SEVEN).queue(&[("epilog", "@exit100@")]).ends("Eqw", "", &[("30", "7")]),
    row("epilogmissing", SEVEN).queue(&[("epilog", "/no/such/epilog")]).ends("", "", &[("14", "7")]),
    row("pestart1", SEVEN).queue(&[("pe_list", "start1")]).args(&["-pe", "start1", "2"]).ends(
        "qw",
        "E",
        &[("10", "0")],
    ),
    row("pestart100", SEVEN).queue(&[("pe_list", "start100")]).args(&["-pe", "start100", "2"]).ends(
        "Eqw",
        "",
        &[("30", "0")],
    ),
    row("pestartmissing", SEVEN)
        .queue(&[("pe_list", "startmissing")])
        .args(&["-pe", "startmissing", "2"])
        .ends("qw", "E", &[("9", "0")]),
    row("pestop1", SEVEN).queue(&[("pe_list", "stop1")]).args(&["-pe", "stop1", "2"]).ends(
        "",
        "E",
        &[("13", "7")],
    ),
    row("pestop100", SEVEN).queue(&[("pe_list", "stop100")]).args(&["-pe", "stop100", "2"]).ends(
        "Eqw",
        "",
        &[("30", "7")],
    ),
    row("pestopmissing", SEVEN).queue(&[("pe_list", "stopmissing")]).args(&["-pe", "stopmissing", "2"]).ends(
        "",
        "",
        &[("12", "7")],
    ),
    row("badshell", SEVEN).args(&["-S", "/no/such/shell"]).ends("Eqw", "", &[("27", "0")]),
    row("badqueueshell", SEVEN).queue(&[("shell", "/no/such/shell")]).ends("qw", "E", &[("27", "0")]),
    row("badoutput", SEVEN).args(&["-o", "/nonexistent/x"]).ends("Eqw", "", &[("26", "0")]),
    row("badcwd", SEVEN).args(&["-wd", "/nonexistent"]).ends("Eqw", "", &[("28", "0")]),
    row("badstarter", SEVEN).queue(&[("starter_method", "/no/such")]).ends("qw", "E", &[("27", "0")]),
    row("badcommand", Line(&["-b", "y", "/no/such"])).ends("", "", &[("0", "127")]),
    row("badcommanddirect", Line(&["-b", "y", "-shell", "n", "/no/such"])).ends("Eqw", "", &[("27", "0")]),
    row("nointerpreter", SEVEN).queue(&[("shell_start_mode", "unix_behavior")]).ends("", "", &[("0", "7")]),
];

/// A cluster with the procedures and parallel environments the rows name.
fn cluster(case: &Case) -> Cluster {
    let cluster = Cluster::start(case.shepherd);
    for code in ["1", "100"] {
        let procedure = cluster.procedure(&format!("exit{code}"), &format!("exit {code}"));
        cluster.add_pe(&format!("start{code}"), &procedure, "/bin/true");
        cluster.add_pe(&format!("stop{code}"), "/bin/true", &procedure);
    }
    cluster.add_pe("startmissing", "/no/such/start", "/bin/true");
    cluster.add_pe("stopmissing", "/bin/true", "/no/such/stop");
    cluster
}

fn submit(cluster: &Cluster, row: &Row) -> u32 {
    let bin = format!("{}/", cluster.root().join("bin").display());
    let expand = |value: &str| match value.strip_prefix('@').and_then(|value| value.strip_suffix('@')) {
        Some(name) => format!("{bin}{name}"),
        None => value.to_owned(),
    };
    let attributes: Vec<(&str, String)> =
        row.queue.iter().map(|(key, value)| (*key, expand(value))).collect();
    let attributes: Vec<(&str, &str)> =
        attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let queue = format!("{}.q", row.name);
    cluster.add_queue(&queue, &attributes);
    let args = [&["-q", &queue], row.args].concat();
    match row.what {
        Script(text) => cluster.qsub_as(&accounts::alice(), &args, text),
        Line(line) => cluster.qsub_line(&accounts::alice(), &args, line),
    }
}

/// What is not as the row says.
fn differences(cluster: &Cluster, row: &Row, job: u32) -> Option<String> {
    let (job_state, queue_state) = (cluster.job_state(job), cluster.queue_states());
    let queue_state = queue_state.get(&format!("{}.q", row.name)).cloned().unwrap_or_default();
    let first = |record: &oxherd_tests::cluster::Record, key: &str| {
        record.get(key).and_then(|value| value.split_whitespace().next()).unwrap_or("-").to_owned()
    };
    let records = cluster.records(job);
    let records: Vec<(String, String)> =
        records.iter().map(|record| (first(record, "failed"), first(record, "exit_status"))).collect();
    let same = records.iter().map(|(a, b)| (a.as_str(), b.as_str())).eq(row.records.iter().copied());
    if job_state.clone().unwrap_or_default() == row.job && queue_state == row.queue_state && same {
        return None;
    }
    Some(format!(
        "{}: job {job_state:?}, queue `{queue_state}`, records {records:?}; expected `{}`, `{}`, {:?}",
        row.name, row.job, row.queue_state, row.records
    ))
}

/// Submits all rows, waits until each is as it says, and reports the ones that never are.
#[track_caller]
fn check(cluster: &Cluster, rows: &[Row]) {
    let jobs: Vec<(&Row, u32)> = rows.iter().map(|row| (row, submit(cluster, row))).collect();
    let mut open = jobs.clone();
    poll(secs(90), || {
        open.retain(|(row, job)| differences(cluster, row, *job).is_some());
        open.is_empty().then_some(())
    });
    // Once more over all: a state may also have passed by.
    let wrong: Vec<String> = jobs.iter().filter_map(|(row, job)| differences(cluster, row, *job)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn every_end_has_its_record_and_its_states(case: &Case) {
    check(&cluster(case), ROWS);
}

/// With the stock shepherd these take every queue instance of the host down (D11, D21).
fn faults_of_one_queue_stay_in_it(case: &Case) {
    let cluster = cluster(case);
    cluster.add_queue("other.q", &[]);
    let forge = "echo fake >$SGE_JOB_SPOOL_DIR/error; echo 7 >$SGE_JOB_SPOOL_DIR/exit_status; exit 0\n";
    let rows = [
        row("missingprolog", SEVEN).queue(&[("prolog", "/no/such/prolog")]).ends(
            "qw",
            "E",
            if case.ours() { &[("8", "0")] } else { &[("7", "0")] },
        ),
        if case.ours() {
            row("forged", Script(forge)).ends("", "", &[("0", "0")])
        } else {
            row("forged", Script(forge)).ends("qw", "E", &[("7", "0")])
        },
    ];
    for row in rows {
        check(&cluster, &[row]);
        let other = cluster.queue_states().remove("other.q");
        assert_eq!(other.as_deref(), Some(case.deviates("E", "")), "state of a queue without a part in it");
        cluster.q("qmod", &["-cq", "*"]);
    }
}
