//! The one table of all queue_conf(5) attributes, in `qconf -sq` order.
//!
//! Parser, template defaults, printer, `docs/attributes.md` and the attribute tests are derived from it.

mod markdown;
mod table;

pub use markdown::markdown;
pub use table::ATTRIBUTES;

/// What a value of the attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One name.
    Name,
    /// Hosts and groups, or NONE.
    HostList,
    /// A whole number from 0.
    Number,
    /// A number of slots, 0 to 9999999.
    Slots,
    /// A nice value, -20 to 20.
    Priority,
    /// A time_specifier.
    Time,
    /// A memory_specifier.
    Memory,
    /// TRUE or FALSE.
    Bool,
    /// Names separated by blanks or commas, or NONE.
    Names,
    /// BATCH, INTERACTIVE, both or NONE.
    QueueType,
    /// `complex=value` list, or NONE.
    ComplexValues,
    /// Ranges like `1-4,8`, or UNDEFINED.
    Processors,
    /// A directory.
    Directory,
    /// An absolute path.
    Shell,
    /// `[user@]path arguments`, or NONE.
    Procedure,
    /// A path, or NONE.
    Starter,
    /// A signal, an absolute path with arguments, or NONE.
    Method,
    /// One of the three start modes.
    StartMode,
    /// A queue-wise or slot-wise list, or NONE.
    Subordinates,
    /// One name, or NONE.
    OptionalName,
    /// default, enabled or disabled.
    InitialState,
}

impl Kind {
    /// The type in a few words, as `docs/attributes.md` shows it.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::HostList => "list of hosts and @groups, or NONE",
            Self::Number => "number from 0 to 4294967295",
            Self::Slots => "number from 0 to 9999999",
            Self::Priority => "number from -20 to 20",
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Bool => "TRUE or FALSE",
            Self::Names => "list of names, or NONE",
            Self::QueueType => "BATCH, INTERACTIVE, both, or NONE",
            Self::ComplexValues => "list of complex=value, or NONE",
            Self::Processors => "ranges like 1-4,8, or UNDEFINED",
            Self::Directory => "absolute path of a directory",
            Self::Shell => "absolute path",
            Self::Procedure => "[user@]path arguments, or NONE",
            Self::Starter => "absolute path, or NONE",
            Self::Method => "SIGNAME, number, absolute path with arguments, or NONE",
            Self::StartMode => "posix_compliant, unix_behavior or script_from_stdin",
            Self::Subordinates => "queue[=slots] list, slots=n(queue[:seq_no][:action],...), or NONE",
            Self::OptionalName => "name, or NONE",
            Self::InitialState => "default, enabled or disabled",
        }
    }

    /// Whether a value is a single word, so that a comma with `=` behind it means forgotten brackets.
    pub const fn is_scalar(self) -> bool {
        matches!(
            self,
            Self::Name
                | Self::Number
                | Self::Slots
                | Self::Priority
                | Self::Time
                | Self::Memory
                | Self::Bool
                | Self::StartMode
                | Self::OptionalName
                | Self::InitialState
                | Self::Shell
        )
    }
}

/// What OXHERD does with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It has its effect on this host.
    Applied,
    /// It is handed to the job, its procedures or the master, and has no effect of its own here.
    PassedThrough,
    /// It is read, checked and kept. Its effect belongs to the scheduler or the daemon, which do not have it yet.
    Planned,
    /// It is read, checked and kept, and has no effect on Linux.
    Ignored,
}

impl Status {
    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::PassedThrough => "passed through",
            Self::Planned => "checked and kept, not applied yet",
            Self::Ignored => "accepted and ignored",
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// Name as in queue_conf(5).
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Value in the template that `qconf -sq` without a name prints on Debian's 8.1.9.
    pub default: &'static str,
    /// What becomes of it.
    pub status: Status,
    /// One line for people.
    pub doc: &'static str,
}

impl Attribute {
    /// Whether `[host=value]` is allowed: everywhere but in qname and hostlist.
    pub const fn allows_overrides(&self) -> bool {
        !matches!(self.kind, Kind::Name | Kind::HostList)
    }
}

/// The row of `name`; names have a case.
pub fn find(name: &str) -> Option<&'static Attribute> {
    ATTRIBUTES.iter().find(|attribute| attribute.name == name)
}

/// The name that was probably meant: equal without case, or at most two edits away.
pub fn closest(name: &str) -> Option<&'static str> {
    closest_of(name, ATTRIBUTES.iter().map(|attribute| attribute.name))
}

pub(crate) fn closest_of<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A name much longer than any attribute is no typing error, and comparing it would cost its square.
    if name.len() > 40 {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let length = lower.chars().count();
    known
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= 2)
        .map(|candidate| (edits(&lower, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 2.min(candidate.len() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        let mut next = vec![left];
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            let cost = diagonal + usize::from(x != *y);
            left = cost.min(left + 1).min(above + 1);
            next.push(left);
            diagonal = *above;
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_a_case_or_two_edits_away() {
        assert_eq!(closest("H_RT"), Some("h_rt"));
        assert_eq!(closest("slot"), Some("slots"));
        assert_eq!(closest("terminate_metod"), Some("terminate_method"));
        assert_eq!(closest("h_walltime"), None);
        assert_eq!(closest("x"), None);
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(
            (edits("abc", "abc"), edits("abc", "ab"), edits("", "abc"), edits("kitten", "sitting")),
            (0, 1, 3, 3)
        );
    }
}
