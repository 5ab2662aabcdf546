//! `bench shepherd`: what one job costs, in the stock supervisor, in ours and at the least. `bench latency`: how late and
//! how completely each does what it has to do.
//!
//! Measured in a process namespace of its own, so that "processes on the host" means those of the bench: the
//! stock shepherd reads all of /proc at the end of every job. docs/testing.md says what each figure means.

mod cluster;
mod cpu;
mod figures;
mod latency;
mod memory;
mod patience;
mod report;
mod setup;
mod syscalls;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::spawn;
use crate::workspace::{cargo, is_root, step, target_dir};
use cpu::Sleepers;
use setup::{COLUMNS, KINDS, Kind, Setup};

/// Before it is the turn of another setting.
const RUNS_IN_A_ROW: u32 = 10;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bench {
    Shepherd,
    Latency,
}

impl Bench {
    const fn name(self) -> &'static str {
        match self {
            Self::Shepherd => "shepherd",
            Self::Latency => "latency",
        }
    }
}

pub(crate) struct Options {
    bench: Bench,
    runs: u32,
    extra: u32,
    jobs: u32,
    stock: PathBuf,
    ours: Option<PathBuf>,
    json: bool,
    cluster: bool,
    /// Of `bench latency`: these figures alone; all of them where it is empty.
    only: Vec<String>,
    /// Set on the second start, inside the namespaces: the scratch directory; the programs are built.
    inside: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(bench: Bench, arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            bench,
            runs: 60,
            extra: 1000,
            jobs: 40,
            stock: PathBuf::from("/usr/lib/gridengine/sge_shepherd"),
            ours: None,
            json: false,
            cluster: false,
            only: Vec::new(),
            inside: None,
        };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().with_context(|| format!("`{flag}` needs a value"));
            match flag.as_str() {
                "--runs" => options.runs = number(flag, value()?)?,
                "--extra" => options.extra = number(flag, value()?)?,
                "--jobs" => options.jobs = number(flag, value()?)?,
                "--stock" => options.stock = PathBuf::from(value()?),
                "--ours" => options.ours = Some(PathBuf::from(value()?)),
                "--json" => options.json = true,
                "--cluster" if bench == Bench::Shepherd => options.cluster = true,
                "--inside" => options.inside = Some(PathBuf::from(value()?)),
                name if bench == Bench::Latency && latency::FIGURES.contains(&name) => {
                    options.only.push(name.to_owned());
                }
                _ => bail!("`bench {}` does not know `{flag}`", bench.name()),
            }
        }
        ensure!(options.runs > 0 && options.jobs > 0, "a bench needs at least one run and one job");
        Ok(options)
    }
}

fn number(flag: &str, text: &str) -> Result<u32> {
    text.parse().with_context(|| format!("`{flag}` needs a number, found `{text}`"))
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let name = options.bench.name();
    ensure!(is_root(), "`bench {name}` starts jobs under another account: run it as root");
    let release = target_dir()?.join("release");
    let floor = release.join("floor");
    let ours = options.ours.clone().unwrap_or_else(|| release.join("oxherd-shepherd"));
    if let Some(base) = &options.inside {
        let setup = Setup::new(base.clone(), &floor, &options.stock, &ours)?;
        return match options.bench {
            Bench::Latency => {
                let rows = latency::measure(&setup, &release.join("behaviour"), &options.only)?;
                println!();
                show(options, &rows, "floor/truth");
                Ok(())
            }
            Bench::Shepherd if options.cluster => below_execd(options, &setup),
            Bench::Shepherd => alone(options, &setup),
        };
    }
    if options.ours.is_none() {
        step(
            "build of the shepherd",
            &mut cargo(&["build", "--quiet", "--release", "--package", "oxherd-shepherd"]),
        )?;
    }
    // Static, as the least a supervisor can be: the dynamic loader is a choice that costs 0.15 ms.
    for (what, program) in [("floor", "floor"), ("jobs", "behaviour")] {
        let build = ["rustc", "--quiet", "--release", "--package", "xtask", "--bin", program];
        step(
            &format!("build of the {what}"),
            cargo(&build).args(["--", "-C", "target-feature=+crt-static", "-C", "relocation-model=static"]),
        )?;
    }
    let scratch = Scratch::new()?;
    let myself = std::env::current_exe().context("cannot name this program")?;
    let mut second = Command::new("unshare");
    second.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    if options.cluster {
        second.args(["--net", "--uts"]);
    }
    second.arg("--");
    if options.bench == Bench::Latency {
        second.arg(&floor).arg("reap");
    }
    second.arg(myself).args(["bench", name, "--inside"]).arg(&scratch.0);
    second.arg("--stock").arg(&options.stock).arg("--ours").arg(&ours);
    for (flag, value) in [("--runs", options.runs), ("--extra", options.extra), ("--jobs", options.jobs)] {
        second.args([flag, &value.to_string()]);
    }
    for (flag, set) in [("--json", options.json), ("--cluster", options.cluster)] {
        if set {
            second.arg(flag);
        }
    }
    second.args(&options.only);
    step("measurement", second.stdin(Stdio::null()))
}

/// A directory that every account may enter. It goes when everything that used it has gone with its namespace.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("oxherd-bench.{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    #[allow(
        clippy::disallowed_methods,
        reason = "its parent is root's or sticky, its jobs are /bin/true and sleep"
    )]
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// T1, T2, T3, T6, T7: the supervisor by itself, in job directories made by hand.
fn alone(options: &Options, setup: &Setup) -> Result<()> {
    for kind in COLUMNS.into_iter().filter(|&kind| setup.program(kind).is_none()) {
        println!("{kind:?} is not measured: the program is not here");
    }
    let high = spawn::descriptor_limit().min(20_000);
    let low = high.min(1024);
    if high < 20_000 {
        println!("The hard limit of descriptors is {high}: T2 compares with that instead of 20000");
    }
    let (mut alone, mut crowded) = (cpu::series(setup, &[high, low]), cpu::series(setup, &[low]));
    // With and without other processes in turns: a slow minute is not to hit one of them alone.
    let mut left = options.runs;
    while left > 0 {
        let runs = left.min(RUNS_IN_A_ROW);
        left -= runs;
        cpu::rounds(setup, runs, &mut alone)?;
        let _sleepers = Sleepers::start(setup, options.extra)?;
        cpu::rounds(setup, runs, &mut crowded)?;
    }
    complain(&alone);
    complain(&crowded);
    let mut rows = Vec::new();
    figures::cpu(&mut rows, &alone, &crowded, (high, low), options.extra);
    let mut counts = Vec::new();
    let mut memory = Vec::new();
    for kind in KINDS {
        counts.push(syscalls::count(setup, kind)?);
        // Who looked the owner up makes no difference to what the shepherd keeps.
        memory.push(match kind {
            Kind::Keyed => None,
            _ => memory::measure(setup, kind, options.jobs, low)?,
        });
    }
    figures::syscalls(&mut rows, &counts);
    figures::memory(&mut rows, &memory);
    print!(
        "\nCPU in ms per job (median of {}), memory in kB per job (mean of {})\n\n",
        options.runs, options.jobs
    );
    show(options, &rows, "floor");
    Ok(())
}

/// T4: the supervisor below the packaged execd.
fn below_execd(options: &Options, setup: &Setup) -> Result<()> {
    let mut cluster = cluster::Cluster::new(setup)?;
    let mut candidates = vec![("wrapper".to_owned(), "none".to_owned(), Vec::new())];
    for kind in COLUMNS {
        if let Some(program) = setup.program(kind) {
            candidates.push((format!("{kind:?}"), program.to_string_lossy().into_owned(), Vec::new()));
        }
    }
    // Twice around, so that a slow minute does not hit one candidate alone.
    for round in 0..2 {
        for (name, program, measured) in &mut candidates {
            // What failed in the first round would only wait for its time limit again.
            if round > 0 && measured.is_empty() {
                continue;
            }
            eprintln!("xtask: {} jobs, shepherd_cmd {program}", options.runs);
            match cluster.measure(program, options.runs) {
                Ok(per_job) => measured.push(per_job),
                Err(error) => println!("{name} (`{program}`) FAILED and is not counted: {error:#}"),
            }
        }
    }
    let mean = |name: &str, pick: fn(&cluster::PerJob) -> f64| {
        let (.., measured) = candidates.iter().find(|(one, ..)| one == name)?;
        let count = u32::try_from(measured.len()).ok().filter(|&count| count > 0)?;
        Some(measured.iter().map(pick).sum::<f64>() / f64::from(count))
    };
    let mut rows = Vec::new();
    figures::below_execd(&mut rows, mean);
    print!(
        "\nCPU in ms per job of /bin/true below the packaged sge_execd (mean of 2 x {})\n\n",
        options.runs
    );
    show(options, &rows, "floor");
    Ok(())
}

fn show(options: &Options, rows: &[report::Row], floor: &str) {
    print!("{}", report::table(rows, floor));
    if options.json {
        print!("{}", report::json(rows));
    }
}

fn complain(series: &[cpu::Series]) {
    for one in series.iter().filter(|one| one.failed > 0) {
        println!(
            "{:?} at {} descriptors: {} runs FAILED and are not counted",
            one.kind, one.descriptors, one.failed
        );
    }
}
