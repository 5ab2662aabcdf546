//! Texts of the cluster's objects.

use super::HOST;

/// Every attribute of a queue, in the order of `qconf -sq`, at its default.
const QUEUE: &str = include_str!("queue.template");

/// The text of a queue on the cluster's host with these attributes.
pub(super) fn queue(name: &str, tmpdir: &str, attributes: &[(&str, &str)]) -> String {
    let text = QUEUE.replace("@NAME@", name).replace("@HOST@", HOST).replace("@TMPDIR@", tmpdir);
    attributes.iter().fold(text, |text, (key, value)| with_line(&text, key, value))
}

/// The text of a parallel environment.
pub(super) fn parallel_environment(name: &str, start: &str, stop: &str) -> String {
    format!(
        "pe_name {name}\nslots 999\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args {start}\nstop_proc_args {stop}\n\
         allocation_rule $pe_slots\ncontrol_slaves FALSE\njob_is_first_task TRUE\nurgency_slots min\n\
         accounting_summary FALSE\nqsort_args NONE\n"
    )
}

/// `text` with the line of `key` replaced; the key must be there.
#[track_caller]
pub(super) fn with_line(text: &str, key: &str, value: &str) -> String {
    let mut found = false;
    let mut out = String::new();
    for line in text.lines() {
        if line.split_whitespace().next() == Some(key) {
            found = true;
            out.push_str(&format!("{key} {value}\n"));
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    assert!(found, "there is no line `{key}`");
    out
}
