//! What the shepherd does as root is all in docs/security.md: a full job below strace, each call with effective user id 0
//! looked up in the table there.
//!
//! The table's first two columns are what this test reads: an act, and a pattern of what it is done to (`*` stands for
//! anything). Programs that the shepherd started are not followed any further: from exec on they act for themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oxherd_tests::{JobDir, Shepherd, require, scratch, secs, spawn, wait_for, wait_until};

/// The calls that change something, or open what only root may.
const CALLS: &str = "execve,execveat,open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,unlink,unlinkat,rmdir,rename,\
    renameat,renameat2,link,linkat,symlink,symlinkat,chown,lchown,fchown,fchownat,chmod,fchmod,fchmodat,fchmodat2,\
    truncate,ftruncate,utimensat,setxattr,fsetxattr,kill,tkill,tgkill,pidfd_send_signal,setuid,setgid,setreuid,\
    setregid,setresuid,setresgid,setfsuid,setfsgid,setgroups,setsid,setpgid,setrlimit,prlimit64,setpriority,nice,\
    sched_setaffinity,sched_setscheduler,ioprio_set,mount,umount2,move_mount,unshare,setns,chroot,pivot_root,chdir,fchdir,\
    ptrace,process_vm_writev,capset,keyctl,prctl,ioctl,socket,connect,bind,sethostname,settimeofday,clock_settime,\
    clone,clone3,fork,vfork,umask,write,pwrite64,writev";

/// What only some name services do.
const OF_NAME_SERVICES: [&str; 2] = ["socket", "connect"];

/// Ends the tracer, and with it what it traces, if the test fails.
struct Traced(Child);

impl Drop for Traced {
    fn drop(&mut self) {
        let own = i32::try_from(self.0.id()).expect("a pid");
        if matches!(self.0.try_wait(), Ok(None)) {
            for process in oxherd_tests::process::tree(own) {
                let _ = spawn::kill(process.pid, libc::SIGKILL);
            }
        }
        let _ = self.0.wait();
    }
}

/// Every kind of procedure, a method, a limit, TMPDIR with something of root's in it.
fn full_job() -> JobDir {
    let mut job = JobDir::new(Shepherd::Ours);
    job.config.insert("default_domain", "ox_compat", "none");
    job.config.insert("default_domain", "ox_tmpdir", "1");
    job.config.insert("default_domain", "ox_job_limits", "1");
    let tmpdir = job.config.get("tmpdir").to_owned();
    fs::remove_dir(&tmpdir).expect("made by the harness");
    let prolog = job.procedure("prolog", &format!("mkdir {tmpdir}/roots; >{tmpdir}/roots/file; exit 0"));
    let own = job.procedure("own", "sleep 300 </dev/null >/dev/null 2>&1 & exit 0");
    let epilog = job.procedure("epilog", "exit 0");
    job.pe("mpi", 1).set("prolog", &format!("root@{prolog}")).set("epilog", &format!("root@{epilog}"));
    job.set("pe_start", &own).set("pe_stop", &own);
    job.set("terminate_method", "/bin/kill -9 $job_pid")
        .set("priority", "5")
        .set("h_cpu", "1:0:0")
        .set("s_cpu", "1:0:0");
    job.set("binding", "linear:1:0,0:SC");
    job.script("mkdir $TMPDIR/mine; >$TMPDIR/mine/file; chmod 0 $TMPDIR/mine\necho ready >seen; setsid sleep 300 & sleep 300\n");
    job
}

fn trace(job: &JobDir) -> String {
    let log = job.root().join("calls");
    let admin = Some(&job.admin);
    let host = oxherd_tests::process::host_name();
    let file = |name: &str, text: &str| scratch::file(&job.path().join(name), text, admin, 0o644);
    file("pe_hostfile", &format!("{host} 1 all.q@{host} UNDEFINED\n"));
    file("environment", &format!("{}\nTMPDIR={}\n", job.marker(), job.config.get("tmpdir")));
    file("config", &job.config.text());
    let (uid, gid) = (job.admin.uid.to_string(), job.admin.gid.to_string());
    let mut command = Command::new("strace");
    // `?`: not every kernel and not every strace knows all of them.
    let calls: Vec<_> = CALLS.split(',').map(|call| format!("?{}", call.trim())).collect();
    command
        .args([
            "-f",
            "-qq",
            "-y",
            "-s",
            "300",
            "-e",
            &format!("trace={}", calls.join(",")),
            "-e",
            "signal=none",
            "-o",
        ])
        .arg(&log);
    command.args(["setpriv", "--clear-groups", "--egid", &gid, "--euid", &uid]).arg(job.shepherd.path());
    command.current_dir(job.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut traced = Traced(command.spawn().expect("strace"));
    let pid = wait_for("the shepherd", secs(20), || {
        fs::read_to_string(job.path().join("pid")).ok()?.trim().parse::<i32>().ok()
    });
    wait_until("the job", secs(30), || job.lines("seen").iter().any(|line| line == "ready"));
    spawn::signal_as_admin(pid, libc::SIGTSTP, &job.admin).expect("the order to end the job");
    wait_until("the end", secs(30), || matches!(traced.0.try_wait(), Ok(Some(_))));
    let record = fs::read_to_string(job.path().join("exit_status")).unwrap_or_default();
    let messages = fs::read_to_string(job.path().join("trace")).unwrap_or_default();
    assert_eq!(record, "0\n", "{messages}");
    assert!(!Path::new(job.config.get("tmpdir")).exists(), "TMPDIR is left: {messages}");
    fs::read_to_string(log).expect("strace wrote")
}

/// Puts lines together that strace split because two processes called at once.
fn whole_lines(text: &str) -> Vec<(u32, String)> {
    let mut open: BTreeMap<u32, String> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((pid, call)) = line.trim_start().split_once(' ') else { continue };
        let (Ok(pid), call) = (pid.parse(), call.trim_start()) else { continue };
        if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
            open.insert(pid, begun.to_owned());
        } else if let Some((_, rest)) =
            call.strip_prefix("<... ").and_then(|call| call.split_once(" resumed>"))
        {
            lines.push((pid, open.remove(&pid).unwrap_or_default() + rest));
        } else {
            lines.push((pid, call.to_owned()));
        }
    }
    lines
}

/// A call as the table has it: the act and what it is done to. `None` for what is no act: failed, or harmless.
fn act(call: &str, places: &[(String, &str)]) -> Option<(String, String)> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    if result.starts_with('-') {
        return None;
    }
    let arguments = arguments.trim_end().trim_end_matches(')');
    let quoted = arguments.split('"').nth(1).unwrap_or("");
    let described = arguments.split(['<', '>']).nth(1).unwrap_or("");
    let object = match name {
        // Relative to a directory that is open.
        _ if name.ends_with("at") || name.ends_with("at2") => {
            if quoted.starts_with('/') {
                quoted.to_owned()
            } else {
                format!("{described}/{quoted}")
            }
        }
        "write" | "fchown" | "fchmod" | "ftruncate" | "pwrite64" | "writev" => described.to_owned(),
        "prctl" | "keyctl" | "prlimit64" | "setpriority" => {
            let words = arguments.split([',', ' ', '(']).find(|word| word.contains('_')).unwrap_or("");
            words.to_owned()
        }
        "setresuid" | "setresgid" | "setgroups" | "kill" | "pidfd_send_signal" => String::new(),
        _ => quoted.to_owned(),
    };
    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| arguments.contains(flag));
    let act = match name {
        "open" | "openat" | "openat2" if writes => "open to write",
        "open" | "openat" | "openat2" => "open to read",
        "write" | "pwrite64" | "writev" => "write",
        "mkdir" | "mkdirat" => "mkdir",
        "unlinkat" if arguments.contains("AT_REMOVEDIR") => "rmdir",
        "unlink" | "unlinkat" => "unlink",
        "kill" | "pidfd_send_signal" => "signal",
        "execve" => "exec",
        "clone" | "clone3" | "fork" | "vfork" => "fork",
        other => other,
    };
    let mut object = object;
    for (place, word) in places {
        object = object.replace(place.as_str(), word);
    }
    Some((act.to_owned(), object))
}

/// The child that a call made.
fn made(call: &str) -> Option<u32> {
    let forks = ["clone", "fork", "vfork"].iter().any(|name| call.starts_with(name));
    call.rsplit(" = ").next().filter(|_| forks)?.trim().parse().ok()
}

/// Everything that was done with effective user id 0.
fn acts_of_root(text: &str, admin: u32, places: &[(String, &str)]) -> BTreeSet<(String, String)> {
    // Effective id of each process that is the shepherd or a copy of it; others are not followed.
    let mut euids: BTreeMap<u32, u32> = BTreeMap::new();
    let mut done = BTreeSet::new();
    let lines = whole_lines(text);
    // Children can be seen before the call that made them returned.
    let mut parents: BTreeMap<u32, u32> = BTreeMap::new();
    for (pid, call) in &lines {
        if let Some(child) = made(call) {
            parents.insert(child, *pid);
        }
    }
    for (pid, call) in &lines {
        let fine = !call.contains(" = -1 ");
        if call.starts_with("execve(") && fine {
            if call.contains("oxherd-shepherd") && euids.is_empty() {
                euids.insert(*pid, admin);
                continue;
            }
            if euids.get(pid) == Some(&0) {
                done.extend(act(call, places));
            }
            euids.insert(*pid, u32::MAX);
            continue;
        }
        let euid = match euids.get(pid) {
            Some(euid) => *euid,
            None => {
                let of_parent = parents.get(pid).and_then(|parent| euids.get(parent)).copied();
                // Its first call may be seen before the one that made it has returned: the parent still is as it was.
                let Some(euid) = of_parent else { continue };
                euids.insert(*pid, euid);
                euid
            }
        };
        // A child is what its parent was when it made it; later the parent may be another.
        if let Some(child) = made(call) {
            euids.entry(child).or_insert(euid);
        }
        if euid == 0 {
            done.extend(act(call, places));
        }
        if fine && call.starts_with("setresuid(") {
            let ids = call.trim_start_matches("setresuid(").split([',', ')']).nth(1).unwrap_or("").trim();
            if let Ok(euid) = ids.parse() {
                if euid == 0 && euids.get(pid) != Some(&0) {
                    done.extend(act(call, places));
                }
                euids.insert(*pid, euid);
            }
        }
    }
    done
}

/// The first two columns of the table.
fn table() -> Vec<(String, String)> {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let path = Path::new(&manifest).join("../docs/security.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let section = text.split("## Every privileged act").nth(1).expect("the section of the privileged acts");
    let section = section.split("\n## ").next().unwrap_or(section);
    let cell = |text: &str| text.trim().trim_matches('`').to_owned();
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| act "));
    let rows: Vec<_> = rows
        .flat_map(|row| {
            let mut cells = row.trim_matches('|').split(" | ");
            let (act, objects) = (cell(cells.next().unwrap_or("")), cells.next().unwrap_or("").to_owned());
            objects.split("<br>").map(|object| (act.clone(), cell(object))).collect::<Vec<_>>()
        })
        .collect();
    assert!(rows.len() > 10, "the table of docs/security.md is not understood");
    rows
}

/// Whether a text fits a pattern in which `*` is anything.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| fits(tail, rest)))
        }),
    }
}

#[test]
fn every_privileged_act_is_in_the_table() {
    require!(root, peer);
    if Command::new("strace").arg("-V").output().is_err() {
        return require::skipped("strace is not installed");
    }
    let job = full_job();
    let log = trace(&job);
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let places = [
        (job.config.get("tmpdir").to_owned(), "TMPDIR"),
        (text(&job.root().join("tmp")), "TMP"),
        (text(&job.path()), "JOB"),
        (text(&job.work()), "WORK"),
        (text(&job.root().join("bin")), "SITE"),
    ];
    let table = table();
    let done = acts_of_root(&log, job.admin.uid, &places);
    let unknown: Vec<_> = done
        .iter()
        .filter(|(act, object)| !table.iter().any(|(known, pattern)| known == act && fits(pattern, object)))
        .collect();
    assert!(unknown.is_empty(), "done as root and not in docs/security.md: {unknown:#?}");
    assert!(done.len() > 15, "too little was seen: {done:#?}");
    // What the table promises and a full job does not do would be a table of another program.
    let kinds: BTreeSet<_> = done.iter().map(|(act, _)| act.as_str()).collect();
    let idle: BTreeSet<_> = table
        .iter()
        .map(|(act, _)| act.as_str())
        .filter(|act| !kinds.contains(act) && !OF_NAME_SERVICES.contains(act))
        .collect();
    assert!(idle.is_empty(), "acts of the table that a full job does not do: {idle:#?}");
}

#[test]
fn a_pattern_fits_what_it_says() {
    assert!(fits("/proc/*/status", "/proc/12/status") && fits("*", "") && fits("a", "a"));
    assert!(!fits("/proc/*/status", "/proc/12/mem") && !fits("a", "ab") && !fits("", "a"));
}

/// The words in backquotes that look like the name of a test.
fn named_tests(text: &str) -> BTreeSet<String> {
    let words = text.split('`').skip(1).step_by(2);
    let looks = |word: &&str| {
        word.matches('_').count() > 2 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    words.filter(looks).map(str::to_owned).collect()
}

#[test]
fn every_threat_has_the_tests_that_its_row_names() {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let document =
        fs::read_to_string(Path::new(&manifest).join("../docs/security.md")).expect("docs/security.md");
    let mut sources = String::new();
    let mut own = BTreeSet::new();
    for entry in fs::read_dir(Path::new(&manifest).join("tests")).expect("there").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("peer_hostile_") {
            sources += &fs::read_to_string(entry.path()).expect("readable");
        }
    }
    for line in sources.lines() {
        let case = line.strip_prefix("fn ").and_then(|line| line.split_once("(case: &Case) {"));
        own.extend(case.map(|(name, _)| name.to_owned()));
    }
    let named = named_tests(&document);
    let missing: Vec<_> = named.iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that are not there: {missing:#?}");
    let silent: Vec<_> = own.iter().filter(|name| !named.contains(*name)).collect();
    assert!(silent.is_empty(), "attacks that docs/security.md does not name: {silent:#?}");
}
