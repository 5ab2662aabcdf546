//! Host identifiers, host groups and host names that mean the same host.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

/// A host or a `@group`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HostId {
    /// A host name as written.
    Host(String),
    /// A host group name with its `@`.
    Group(String),
}

impl HostId {
    /// Parses an identifier; the first `@` makes it a group.
    /// `None` for empty names and names with characters that no host name has.
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('@').unwrap_or(text);
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if bare.is_empty() || !bare.chars().all(legal) {
            return None;
        }
        Some(if bare.len() == text.len() {
            Self::Host(text.to_owned())
        } else {
            Self::Group(text.to_owned())
        })
    }

    /// The name as written, with the `@` of a group.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Host(name) | Self::Group(name) => name,
        }
    }

    /// Whether both are written for the same host or group. Host names have no case, group names have one.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Host(a), Self::Host(b)) => a.eq_ignore_ascii_case(b),
            (Self::Group(a), Self::Group(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// All known host groups, and other names of hosts (short names, `host_aliases`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostGroups {
    groups: BTreeMap<String, Vec<HostId>>,
    aliases: BTreeMap<String, String>,
}

impl HostGroups {
    /// No groups and no aliases.
    pub fn new() -> Self {
        Self::default()
    }

    /// Defines or replaces `group` (with its `@`).
    pub fn insert(&mut self, group: impl Into<String>, members: Vec<HostId>) {
        self.groups.insert(group.into(), members);
    }

    /// Makes `other` another name of `host`. Names are compared without case.
    pub fn alias(&mut self, other: &str, host: &str) {
        self.aliases.insert(other.to_ascii_lowercase(), host.to_ascii_lowercase());
    }

    /// The groups' names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// Whether the group is defined.
    pub fn is_known(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Whether two names mean one host: equal without case, or aliases of one another.
    pub fn same_host(&self, a: &str, b: &str) -> bool {
        let canonical = |name: &str| {
            let lower = name.to_ascii_lowercase();
            self.aliases.get(&lower).cloned().unwrap_or(lower)
        };
        a.eq_ignore_ascii_case(b) || canonical(a) == canonical(b)
    }

    /// Whether `host` is in `group`, directly or through groups inside it. Groups that contain each other are harmless.
    pub fn contains(&self, group: &str, host: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![group];
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            for member in self.groups.get(name).into_iter().flatten() {
                match member {
                    HostId::Host(member) if self.same_host(member, host) => return true,
                    HostId::Host(_) => {}
                    HostId::Group(inner) => open.push(inner),
                }
            }
        }
        false
    }

    /// Whether an identifier of a queue's hostlist or override applies to `host`.
    pub fn matches(&self, id: &HostId, host: &str) -> bool {
        match id {
            HostId::Host(name) => self.same_host(name, host),
            HostId::Group(name) => self.contains(name, host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_hosts_or_groups() {
        assert_eq!(HostId::parse("node1"), Some(HostId::Host("node1".to_owned())));
        assert_eq!(HostId::parse("@all"), Some(HostId::Group("@all".to_owned())));
        for refused in ["", "@", "a b", "a,b", "a=b", "[x]"] {
            assert_eq!(HostId::parse(refused), None, "{refused}");
        }
    }

    #[test]
    fn groups_nest_and_may_even_contain_each_other() {
        let mut groups = HostGroups::new();
        groups.insert("@a", vec![HostId::Group("@b".to_owned()), HostId::Host("n1".to_owned())]);
        groups.insert("@b", vec![HostId::Group("@a".to_owned()), HostId::Host("N2.example".to_owned())]);
        assert!(groups.contains("@a", "n2.EXAMPLE"));
        assert!(groups.contains("@b", "n1"));
        assert!(!groups.contains("@a", "n3"));
        groups.alias("n2", "n2.example");
        assert!(groups.contains("@a", "n2"));
        assert!(!groups.contains("@missing", "n2"));
    }
}
