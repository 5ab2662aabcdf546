//! Bodies of the fuzz targets `conf_queue` and `units`. They must never panic; a failed assertion is a finding.

use oxherd_model::host_group::HostGroups;
use oxherd_model::specifier::{Writer, parse_bool, parse_double, parse_memory, parse_number, parse_time};

use crate::attribute::ATTRIBUTES;
use crate::diagnostic::Diagnostic;
use crate::lint::{LintContext, lint_queue};
use crate::queue::{ClusterQueue, Reading, print};
use crate::{complex, global, object};

/// Reads any bytes as a queue file in every way; what can be read must print back unchanged. The first line is also
/// the value of a `--set`, for the attribute that its length chooses.
pub fn conf_queue(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for fill_missing in [true, false] {
        let admin = queue_file(&text, Reading { writer: Writer::Admin, fill_missing });
        let request = queue_file(&text, Reading { writer: Writer::Request, fill_missing });
        // What is refused with attributes from the template is refused without them.
        if request.is_none() {
            assert_eq!(admin, None);
            break;
        }
        // What an administrator may write means the same where a qmaster has accepted it.
        if admin.is_some() {
            assert_eq!(admin, request);
        }
    }
    let line = text.lines().next().unwrap_or("");
    let attribute = &ATTRIBUTES[line.len() % ATTRIBUTES.len()];
    let mut queue = ClusterQueue::template("fuzz.q");
    if queue.set(attribute.name, line).is_ok() {
        let printed = print(&queue);
        let (again, diagnostics) = ClusterQueue::read("set", &printed);
        assert!(again.is_some(), "{} {line:?}: {diagnostics:?}", attribute.name);
        let value = |queue: &ClusterQueue| queue.get(attribute.name).map(|setting| setting.value.clone());
        assert_eq!(again.as_ref().map(value), Some(value(&queue)));
    }
    // A whole queue consists of unknown names there, and looking for what each may have meant takes most of the time.
    if text.contains("qname") {
        return;
    }
    let _ = object::ParallelEnvironment::read("fuzz", &text);
    let _ = object::CheckpointEnvironment::read("fuzz", &text);
    let _ = object::ExecHost::read("fuzz", &text);
    let _ = object::HostGroup::read("fuzz", &text);
    let _ = global::GlobalConf::read("fuzz", &text);
    let _ = complex::read("fuzz", &text);
}

fn queue_file(text: &str, reading: Reading) -> Option<ClusterQueue> {
    let (queue, diagnostics) = ClusterQueue::read_as("fuzz", text, reading);
    for diagnostic in &diagnostics {
        let _ = diagnostic.render(text);
    }
    assert_eq!(queue.is_none(), diagnostics.iter().any(Diagnostic::is_error));
    let queue = queue?;
    let printed = print(&queue);
    if !reading.fill_missing {
        assert_eq!(printed, text);
    }
    let (again, _) = ClusterQueue::read_as("fuzz", &printed, reading);
    assert_eq!(again.as_ref(), Some(&queue));
    let groups = HostGroups::new();
    let context = LintContext { groups: Some(&groups), ..LintContext::default() };
    for diagnostic in lint_queue(&queue, &context) {
        let _ = diagnostic.render(text);
    }
    let _ = queue.resolve("node1", &groups);
    Some(queue)
}

/// Reads any bytes as every specifier. What an administrator may write means the same in a request.
pub fn units(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    macro_rules! both {
        ($($parse:ident),*) => {
            $(let admin = $parse(&text, Writer::Admin);
            let request = $parse(&text, Writer::Request);
            match admin {
                Ok(admin) => assert_eq!(Ok(admin), request),
                Err(error) => {
                    assert!(error.offset <= text.len());
                    let _ = error.to_string();
                }
            })*
        };
    }
    both!(parse_time, parse_memory, parse_double);
    let _ = parse_number(&text);
    let _ = parse_bool(&text);
}
