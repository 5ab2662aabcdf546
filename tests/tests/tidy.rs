//! The rules of the house that a compiler does not know: who may depend on whom, where unsafe code may be,
//! what every file begins with, which documents there have to be.
//!
//! A rule that fails here names the file and what to do. The rules themselves are argued in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

/// Who may depend on which of our crates, at run and build time. Tests may look at anything.
const ARROWS: [(&str, &[&str]); 8] = [
    ("oxherd-execd", &["conf", "wire", "scheduler", "handoff", "sys", "model"]),
    // sys: `oxherd run` looks at who is asking (uid, terminal) and waits for its own job.
    ("oxherd", &["execd", "shepherd", "conf", "handoff", "sys", "model"]),
    ("oxherd-shepherd", &["handoff", "wire", "sys", "model"]),
    ("oxherd-conf", &["model"]),
    ("oxherd-wire", &["model"]),
    ("oxherd-handoff", &["model"]),
    ("oxherd-scheduler", &["model"]),
    // Nothing of ours: its errors and types are those of the system.
    ("oxherd-sys", &[]),
];

/// These look at the whole workspace: the harness and the tool.
const FREE: [&str; 2] = ["oxherd-tests", "xtask"];

/// Files outside of `sys` that may contain unsafe code: both start processes with an identity, limits and a
/// signal mask that std cannot set.
const UNSAFE_FILES: [&str; 2] = ["tests/src/spawn.rs", "xtask/src/spawn.rs"];

const LONGEST_FILE: usize = 800;
const LONG_FILE: usize = 400;

fn root() -> PathBuf {
    let tests = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    tests.parent().expect("the package is a directory of the workspace").to_path_buf()
}

fn metadata() -> Metadata {
    MetadataCommand::new()
        .current_dir(root())
        // Linux only, so that nothing has to be fetched that the build did not need.
        .other_options([
            "--locked".to_owned(),
            "--filter-platform".to_owned(),
            format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
        ])
        .exec()
        .expect("cargo metadata works wherever the tests were built")
}

/// The name of a package without our prefix: `oxherd-model` is `model`.
fn short(name: &str) -> &str {
    name.strip_prefix("oxherd-").unwrap_or(name)
}

/// Files below a directory with this ending, build output and hidden directories left out.
fn files(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_symlink() || name == "target" || name == ".git" {
            continue;
        }
        if path.is_dir() {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

/// All Rust sources by their path from the root, with their text.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    files(&root, ".rs", &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned(), text)
        })
        .collect()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("`{name}` cannot be read: {error}"))
}

fn assert_none(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

#[test]
fn the_arrows_between_our_crates_point_down() {
    let metadata = metadata();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    let members: BTreeSet<&str> =
        metadata.workspace_packages().iter().map(|package| package.name.as_str()).collect();
    let mut broken = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        if FREE.contains(&name) {
            continue;
        }
        for dependency in package.dependencies.iter().filter(|one| one.kind != DependencyKind::Development) {
            let target = dependency.name.as_str();
            if !members.contains(target) {
                continue;
            }
            // A crate that is not in the table (model, a load sensor) may depend on model, and model on none.
            let to =
                allowed.get(name).copied().unwrap_or(if short(name) == "model" { &[] } else { &["model"] });
            if !to.contains(&short(target)) {
                broken.push(format!("{name} -> {target}"));
            }
        }
    }
    assert_none(&broken, "arrows that do not exist in ARCHITECTURE.md");
}

#[test]
fn only_the_client_depends_on_execd_and_on_the_shepherd() {
    let mut broken = Vec::new();
    for package in metadata().workspace_packages() {
        let name = package.name.as_str();
        if name == "oxherd" || FREE.contains(&name) {
            continue;
        }
        // Not even for tests: a test that needs both programs belongs to tests/.
        for dependency in &package.dependencies {
            if ["oxherd-execd", "oxherd-shepherd"].contains(&dependency.name.as_str()) {
                broken.push(format!("{name} -> {}", dependency.name));
            }
        }
    }
    assert_none(&broken, "only the client may depend on execd and on the shepherd");
}

#[test]
fn the_shepherd_consists_of_what_its_list_says() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().expect("cargo resolved the dependencies");
    let nodes: BTreeMap<&PackageId, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let shepherd = metadata
        .packages
        .iter()
        .find(|package| package.name == "oxherd-shepherd")
        .expect("the shepherd is a member of the workspace");
    let (mut closure, mut queue) = (BTreeSet::new(), vec![&shepherd.id]);
    while let Some(id) = queue.pop() {
        for dependency in &nodes[id].deps {
            let needed = dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
            if needed && closure.insert(&dependency.pkg) {
                queue.push(&dependency.pkg);
            }
        }
    }
    let real: BTreeSet<String> = closure.into_iter().map(|id| metadata[id].name.to_string()).collect();

    let mut listed = BTreeSet::new();
    let mut broken = Vec::new();
    for line in read("shepherd/DEPENDENCIES").lines() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(": ") {
            Some((name, reason)) if !reason.trim().is_empty() => {
                if !listed.insert(name.to_owned()) {
                    broken.push(format!("`{name}` is listed twice"));
                }
            }
            _ => broken.push(format!("`{line}` is not `name: reason`")),
        }
    }
    broken.extend(real.difference(&listed).map(|name| format!("`{name}` is a dependency, but not listed")));
    broken.extend(listed.difference(&real).map(|name| format!("`{name}` is listed, but no dependency")));
    assert_none(&broken, "shepherd/DEPENDENCIES and `cargo tree --package oxherd-shepherd` differ");
}

#[test]
fn unsafe_code_is_where_it_is_allowed() {
    let mut broken = Vec::new();
    // In two parts, as this file is read as well.
    let marks = ["{", "fn", "impl", "extern", "trait"].map(|next| format!("{} {next}", "unsafe"));
    let permits = ["allow", "expect", "warn"].map(|level| format!("{level}({}_code", "unsafe"));
    for (name, text) in sources() {
        if name.starts_with("crates/sys/") || UNSAFE_FILES.contains(&name.as_str()) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if marks.iter().chain(&permits).any(|mark| code.contains(mark.as_str())) {
                broken.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none(&broken, "unsafe code belongs into crates/sys");
}

#[test]
fn every_crate_but_sys_and_the_tools_forbids_unsafe_code() {
    let mut broken = Vec::new();
    for package in metadata().workspace_packages() {
        let name = package.name.as_str();
        if name == "oxherd-sys" || FREE.contains(&name) {
            continue;
        }
        for target in package.targets.iter().filter(|target| target.is_lib() || target.is_bin()) {
            let text = fs::read_to_string(&target.src_path).expect("cargo knows where its targets are");
            if !text.lines().any(|line| line.trim() == concat!("#![forbid(", "unsafe_code)]")) {
                broken.push(target.src_path.to_string());
            }
        }
    }
    assert_none(&broken, "these crate roots lack the forbid line");
}

#[test]
fn every_module_starts_with_a_paragraph() {
    let libraries: Vec<PathBuf> = metadata()
        .workspace_packages()
        .iter()
        .filter(|package| package.targets.iter().any(|target| target.is_lib()))
        .filter_map(|package| Some(package.manifest_path.parent()?.join("src").into_std_path_buf()))
        .collect();
    let root = root();
    let mut broken = Vec::new();
    for (name, text) in sources() {
        let inside = libraries.iter().any(|library| root.join(&name).starts_with(library));
        // The mains are ten lines that call the library.
        if inside && !name.ends_with("src/main.rs") && !text.trim_start().starts_with("//!") {
            broken.push(name);
        }
    }
    assert_none(&broken, "these files do not start with a `//!` paragraph");
}

#[test]
fn no_source_file_is_too_long() {
    let mut broken = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            broken.push(format!("{name}: {lines} lines"));
        } else if lines > LONG_FILE {
            println!("note: {name} has {lines} lines; a file that long usually has a second noun in it");
        }
    }
    assert_none(&broken, &format!("source files over {LONGEST_FILE} lines"));
}

#[test]
fn nothing_is_left_to_be_done_in_the_sources() {
    let marks = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME")];
    let mut broken = Vec::new();
    for (name, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                broken.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none(&broken, "finish these or make them issues");
}

#[test]
fn the_attributes_are_documented() {
    assert!(!read("docs/attributes.md").trim().is_empty(), "docs/attributes.md is empty");
}

#[test]
fn the_links_of_the_entry_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in ["README.md", "ARCHITECTURE.md"] {
        let text = read(document);
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', ' ', '\n']).next().unwrap_or("");
            let path = target.split('#').next().unwrap_or("");
            let elsewhere =
                ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme));
            if !path.is_empty() && !elsewhere && !root().join(path).exists() {
                broken.push(format!("{document} -> {target}"));
            }
        }
    }
    assert_none(&broken, "links to files that do not exist");
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let root = root();
    let mut broken = Vec::new();
    let marks = [concat!("/wor", "k/"), concat!("../sha", "red")];
    for path in tracked(&root) {
        let Ok(bytes) = fs::read(root.join(&path)) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for (number, line) in text.lines().enumerate() {
            let named = marks.iter().any(|mark| {
                // `~/work/x` and `build/work/x` are other directories.
                let before = |at: usize| line[..at].chars().next_back();
                let inner = |c: char| c.is_alphanumeric() || "~._-}/".contains(c);
                line.match_indices(mark).any(|(at, _)| !before(at).is_some_and(inner))
            });
            if named {
                broken.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert_none(&broken, "these lines only make sense on one machine");
}

/// What git has or would add; without git (a tarball, a clone of somebody else's) every file there is.
fn tracked(root: &Path) -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    if let Ok(output) = listed
        && output.status.success()
    {
        let names = String::from_utf8_lossy(&output.stdout);
        return names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    }
    let mut found = Vec::new();
    files(root, "", &mut found);
    found.into_iter().filter_map(|path| Some(path.strip_prefix(root).ok()?.to_path_buf())).collect()
}

#[test]
fn the_changelog_has_a_place_for_the_next_change() {
    let changelog = read("CHANGELOG.md");
    let there = changelog.lines().any(|line| line.starts_with("## ") && line.contains("Unreleased"));
    assert!(there, "CHANGELOG.md has no `## [Unreleased]` section");
}
