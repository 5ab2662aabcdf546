//! A value for all hosts with overrides for some.

use oxherd_model::host_group::{HostGroups, HostId};
use oxherd_model::queue_instance::{GroupValue, Origin};

use crate::diagnostic::Span;

/// A typed value and the text it was read from. Equality ignores the place.
#[derive(Debug, Clone)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    /// Its text, continuation lines joined.
    pub text: String,
    /// Its place in the file.
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Written<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value && self.text == other.text
    }
}

/// The value of one attribute of a cluster queue.
#[derive(Debug, Clone, PartialEq)]
pub struct HostValue<T> {
    /// For all hosts without an override.
    pub default: Written<T>,
    /// `[host=value]`, in the order written. Entries for hosts that do not exist ("detached") stay here too.
    pub overrides: Vec<(HostId, Written<T>)>,
}

impl<T: PartialEq> HostValue<T> {
    /// The value that holds for `host`: its own override, else that of a group containing it, else the default.
    ///
    /// # Errors
    /// The groups, if several contain the host and their values differ.
    pub fn for_host(
        &self,
        host: &str,
        groups: &HostGroups,
    ) -> Result<(&Written<T>, Origin), Vec<GroupValue>> {
        let own = self.overrides.iter().find_map(|(id, value)| match id {
            HostId::Host(name) if groups.same_host(name, host) => Some((value, Origin::Host(name.clone()))),
            _ => None,
        });
        if let Some(found) = own {
            return Ok(found);
        }
        let in_groups: Vec<(&String, &Written<T>)> = self
            .overrides
            .iter()
            .filter_map(|(id, value)| match id {
                HostId::Group(name) if groups.contains(name, host) => Some((name, value)),
                _ => None,
            })
            .collect();
        let Some((name, first)) = in_groups.first() else {
            return Ok((&self.default, Origin::QueueDefault));
        };
        if in_groups.iter().all(|(_, value)| value.value == first.value) {
            return Ok((first, Origin::HostGroup((*name).clone())));
        }
        Err(in_groups
            .iter()
            .map(|(group, value)| GroupValue { group: (*group).clone(), text: value.text.clone() })
            .collect())
    }

    /// The default and all overrides.
    pub fn all(&self) -> impl Iterator<Item = &Written<T>> {
        core::iter::once(&self.default).chain(self.overrides.iter().map(|(_, value)| value))
    }

    /// The text as in a file: `default,[host=value],...`.
    pub fn text(&self) -> String {
        let mut text = self.default.text.clone();
        for (host, value) in &self.overrides {
            text.push_str(&format!(",[{host}={}]", value.text));
        }
        text
    }
}
