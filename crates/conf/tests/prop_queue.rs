//! Properties: what is printed reads back as it was, and no input panics.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use oxherd_conf::attribute::{ATTRIBUTES, Attribute, Kind};
use oxherd_conf::fuzzing;
use oxherd_conf::queue::{ClusterQueue, print};
use proptest::prelude::*;

/// A text that is a value of `kind`.
fn value_of(kind: Kind) -> BoxedStrategy<String> {
    let names = "[a-z][a-z0-9.]{0,6}(( |,|, )[a-z][a-z0-9.]{0,6}){0,3}";
    let pattern = match kind {
        Kind::Name => "[a-z][a-z0-9._-]{0,10}",
        Kind::HostList => "(NONE|n[0-9](,@g[0-9]| n1[0-9]){0,3})",
        Kind::Number => "[0-9]{1,9}",
        Kind::Slots => "[0-9]{1,6}",
        Kind::Priority => "-?(1?[0-9]|20)",
        Kind::Time => "(INFINITY|[1-9][0-9]{0,5}|[0-9]{0,2}:[0-9]{0,3}:[0-9]{0,2})",
        Kind::Memory => "(infinity|[1-9][0-9]{0,4}(\\.[0-9])?[kKmMgGtT]?)",
        Kind::Bool => "(TRUE|false|0|yes)",
        Kind::Names => names,
        Kind::QueueType => "(NONE|BATCH|batch,INTERACTIVE)",
        Kind::ComplexValues => "(NONE|[a-z]{1,5}=[0-9]{1,3}G?(,[a-z_]{6,8}=TRUE)?)",
        Kind::Processors => "(UNDEFINED|[0-9]{1,3}(-[0-9]{1,3})?(,[0-9])?)",
        Kind::Directory | Kind::Shell => "/[a-z/]{1,12}",
        Kind::Procedure => "(none|NONE|([a-z]{1,5}@)?/[a-z]{1,8}( [$a-z0-9=,'\"#]{1,6}){0,3})",
        Kind::Starter => "(NONE|/[a-z]{1,8})",
        Kind::Method => "(NONE|SIGTERM|9|/[a-z]{1,8}( [$a-z0-9]{1,6}){0,3})",
        Kind::StartMode => "(posix_compliant|Unix_Behavior|script_from_stdin)",
        Kind::Subordinates => {
            "(NONE|[a-z]\\.q(=[1-9])?(,[d-f]\\.q)?|slots=[1-9]\\([a-z]\\.q(:[0-9](:lr)?)?(, [a-z]\\.q)?\\))"
        }
        Kind::OptionalName => "[a-z]{1,8}",
        Kind::InitialState => "(default|enabled|DISABLED)",
    };
    pattern.boxed()
}

/// A line with overrides, odd spacing, a comment above and perhaps a continuation.
fn line(attribute: &'static Attribute) -> BoxedStrategy<String> {
    let overrides = if attribute.allows_overrides() { 0..4_usize } else { 0..1 };
    (
        value_of(attribute.kind),
        prop::collection::vec(value_of(attribute.kind), overrides),
        "[ \t]{1,12}",
        prop_oneof![Just(","), Just(" ,"), Just(", \\\n   "), Just(",\\\n")],
        prop_oneof![8 => Just(""), 1 => Just("# why\n"), 1 => Just("\n")],
        prop_oneof![9 => Just("\n"), 1 => Just("  \r\n")],
    )
        .prop_map(|(default, values, gap, comma, above, end)| {
            let mut text = format!("{above}{}{gap}{default}", attribute.name);
            for (index, value) in values.iter().enumerate() {
                let host = if index == 1 { "@g".to_owned() } else { format!("n{index}") };
                text.push_str(&format!("{comma}[{host}={value}]"));
            }
            text + end
        })
        .boxed()
}

fn queue_file() -> impl Strategy<Value = String> {
    let lines: Vec<_> = ATTRIBUTES.iter().map(line).collect();
    (lines, any::<bool>()).prop_map(|(mut lines, reversed)| {
        if reversed {
            lines.reverse();
        }
        lines.concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_prints_and_reads_back(text in queue_file()) {
        let (queue, diagnostics) = ClusterQueue::read("prop", &text);
        let queue = queue.ok_or_else(|| TestCaseError::fail(format!("{diagnostics:?}")))?;
        prop_assert_eq!(print(&queue), text);
        let (again, _) = ClusterQueue::read("prop", &print(&queue));
        prop_assert_eq!(again, Some(queue));
    }

    #[test]
    fn an_edited_queue_prints_and_reads_back(
        text in queue_file(),
        edits in prop::collection::vec((0..ATTRIBUTES.len(), any::<prop::sample::Index>()), 1..4),
        values in prop::collection::vec("(NONE|[0-9]{1,3}|/[a-z]{1,5} x|TRUE|INFINITY|a=1 b=2)", 4),
    ) {
        let (queue, _) = ClusterQueue::read("prop", &text);
        let mut queue = queue.unwrap();
        for (attribute, index) in edits {
            let value = index.get(&values);
            let _ = queue.set(ATTRIBUTES[attribute].name, value);
        }
        let (again, diagnostics) = ClusterQueue::read("prop", &print(&queue));
        prop_assert_eq!(again, Some(queue), "{:?}", diagnostics);
    }

    #[test]
    fn damaged_files_never_panic(text in queue_file(), at in any::<prop::sample::Index>(), with in ".{0,3}", cut in 0..6_usize) {
        let at = at.index(text.len());
        let mut damaged = text.into_bytes();
        let end = (at + cut).min(damaged.len());
        damaged.splice(at..end, with.bytes());
        fuzzing::conf_queue(&damaged);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzzing::conf_queue(&bytes);
        fuzzing::units(&bytes);
    }

    #[test]
    fn almost_numbers_never_panic(text in "[-+0-9.:eExXkKgGpP,/ nafiNAFI]{0,12}") {
        fuzzing::units(text.as_bytes());
    }
}
