//! A full file system: in the job directory, where the job writes, and where TMPDIR lies. One clear outcome, nothing
//! left, and a job that ran is never started again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oxherd_tests::faults::{COUNTED, NOT_RUN, failed, write_files};
use oxherd_tests::{JobDir, Outcome, Shepherd, require};

/// A file system of 64 KiB over a directory, owned like it; gone when dropped.
struct Small(PathBuf);

impl Small {
    fn over(path: &Path, owner: (u32, u32)) -> Self {
        let options = format!("size=64k,nr_inodes=64,mode=755,uid={},gid={}", owner.0, owner.1);
        let status =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "oxherd-test"]).arg(path).status();
        assert!(status.expect("mount is there").success(), "mount a tmpfs on {}", path.display());
        Self(path.to_owned())
    }

    /// Fills it to the last page, but for some pages.
    fn fill(&self, spare: usize) {
        let page = [b'x'; 4096];
        let mut pages = Vec::new();
        while let Ok(()) = fs::write(self.0.join(format!("fill{}", pages.len())), page) {
            pages.push(self.0.join(format!("fill{}", pages.len())));
            assert!(pages.len() < 100, "the file system is small");
        }
        let _ = fs::remove_file(self.0.join(format!("fill{}", pages.len())));
        for path in pages.iter().take(spare) {
            fs::remove_file(path).expect("one of ours");
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Runs a job whose job directory has `spare` pages left when the shepherd starts. Execd's files are there already.
fn with_spare(spare: usize) -> (usize, u32, Outcome) {
    let mut job = JobDir::new(Shepherd::Ours);
    job.script(&format!("{COUNTED}setsid sleep 300 &\nexit 0\n"));
    let small = Small::over(&job.path(), (job.admin.uid, job.admin.gid));
    write_files(&job);
    small.fill(spare);
    let mut running = job.start();
    let outcome = running.end();
    assert!(running.remains().is_empty(), "{:#?}", running.remains());
    (job.lines("runs").len(), failed(&job.path(), &outcome), outcome)
}

#[test]
fn a_full_job_directory_never_lets_a_job_run_twice() {
    require!(root);
    let mut broken = Vec::new();
    for spare in 0..9 {
        let (runs, failed, outcome) = with_spare(spare);
        println!("{spare} pages: failed {failed}, {runs} runs, {:?} {:?}", outcome.status, outcome.error);
        // 19 is started again where the job or its queue allows it.
        if runs > 1 || (runs == 1 && (NOT_RUN.contains(&failed) || failed == 19)) {
            broken.push(format!("{spare} pages left: ran {runs} times, {failed} has it started again"));
        }
        if failed == 0 && runs != 1 {
            broken.push(format!("{spare} pages left: success without a run"));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_job_directory_without_inodes_is_a_fault_of_the_host() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    job.script(COUNTED);
    let small = Small::over(&job.path(), (job.admin.uid, job.admin.gid));
    write_files(&job);
    for number in 0.. {
        if fs::write(small.0.join(format!("inode{number}")), "").is_err() {
            break;
        }
    }
    let mut running = job.start();
    let outcome = running.end();
    assert_eq!(failed(&job.path(), &outcome), 7, "{outcome:#?}");
    assert_eq!(job.read("runs"), "");
}

#[test]
fn output_that_cannot_be_made_on_a_full_disk_is_a_job_error() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    job.script("echo ran >>/dev/null\n");
    let small = Small::over(&job.work(), (job.owner.uid, job.owner.gid));
    for number in 0.. {
        if fs::write(small.0.join(format!("inode{number}")), "").is_err() {
            break;
        }
    }
    let mut running = job.start();
    running.end().expect_code(26).expect_error("No space left on device");
    assert!(running.remains().is_empty());
}

#[test]
fn a_job_that_fills_its_disk_is_an_ordinary_failure_of_the_job() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    job.script("cat /dev/zero >big || exit 3\n");
    let _small = Small::over(&job.work(), (job.owner.uid, job.owner.gid));
    let mut running = job.start();
    running.end().expect_finished(3);
    assert!(running.remains().is_empty());
}

#[test]
fn a_tmpdir_that_cannot_be_made_on_a_full_disk_is_a_fault_of_the_queue() {
    require!(root);
    let mut job = JobDir::new(Shepherd::Ours);
    fs::remove_dir(job.config.get("tmpdir")).expect("the TMPDIR of the harness is empty");
    job.config.insert("default_domain", "ox_compat", "none");
    job.config.insert("default_domain", "ox_tmpdir", "1");
    job.script(COUNTED);
    let tmp = job.root().join("tmp");
    let small = Small::over(&tmp, (0, 0));
    for number in 0.. {
        if fs::write(small.0.join(format!("inode{number}")), "").is_err() {
            break;
        }
    }
    let mut running = job.start();
    running.end().expect_code(11).expect_error("tmpdir");
    assert_eq!(job.read("runs"), "");
}
