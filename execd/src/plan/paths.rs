//! Paths of `-o`, `-e`, `-i`, `-S` and `-wd`: host lists, `~` and variables (observed on 8.1.9).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What paths may name.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) home: &'a OsStr,
    pub(super) user: &'a str,
    pub(super) job_id: &'a str,
    pub(super) job_name: &'a str,
    pub(super) host: &'a str,
    pub(super) home_of: fn(&str) -> Option<PathBuf>,
}

/// The entry of a list of `[host:]path` for this host: its own, else the one without a host.
pub(super) fn for_host<'t>(list: &'t str, host: &str) -> Option<&'t str> {
    let entries = || {
        list.split(',').filter(|entry| !entry.is_empty()).map(|entry| match entry.split_once(':') {
            // `:path` and a path with a colon behind a slash have no host.
            Some((host, path)) if !host.contains('/') => ((!host.is_empty()).then_some(host), path),
            _ => (None, entry),
        })
    };
    entries()
        .find(|(named, _)| named.is_some_and(|named| named.eq_ignore_ascii_case(host)))
        .or_else(|| entries().find(|(named, _)| named.is_none()))
        .map(|(_, path)| path)
}

impl Context<'_> {
    /// Expands a path and puts `below` before a relative one. `None` if it is empty or names an unknown user, which
    /// 8.1.9 treats as if it were not given.
    pub(super) fn path(&self, text: &str, below: &OsStr) -> Option<OsString> {
        if text.is_empty() {
            return None;
        }
        let (mut expanded, rest) = match text.strip_prefix('~') {
            None => (OsString::new(), text),
            Some(rest) => {
                let (user, rest) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
                let home = if user.is_empty() {
                    self.home.to_owned()
                } else {
                    (self.home_of)(user)?.into_os_string()
                };
                (home, rest)
            }
        };
        self.variables(rest, &mut expanded);
        if Path::new(&expanded).is_absolute() {
            return Some(expanded);
        }
        let mut absolute = below.to_owned();
        absolute.push("/");
        absolute.push(expanded);
        Some(absolute)
    }

    /// Names are matched by prefix: `$JOB_IDX` is the job number and an X. Unknown ones stay as they are.
    fn variables(&self, text: &str, out: &mut OsString) {
        let known: [(&str, &OsStr); 7] = [
            ("HOME", self.home),
            ("USER", self.user.as_ref()),
            ("JOB_ID", self.job_id.as_ref()),
            ("JOB_NAME", self.job_name.as_ref()),
            ("HOSTNAME", self.host.as_ref()),
            // Jobs here are no arrays.
            ("TASK_ID", "0".as_ref()),
            ("$", "$".as_ref()),
        ];
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push(before);
            match known.iter().find_map(|(name, value)| Some((after.strip_prefix(name)?, value))) {
                Some((behind, value)) => {
                    out.push(value);
                    rest = behind;
                }
                None => {
                    out.push("$");
                    rest = after;
                }
            }
        }
        out.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context<'static> {
        Context {
            home: "/home/alice".as_ref(),
            user: "alice",
            job_id: "47",
            job_name: "true.sh",
            host: "eh1",
            home_of: |name| (name == "bob").then(|| PathBuf::from("/home/bob")),
        }
    }

    #[test]
    fn paths_expand_as_observed() {
        // execd.md §4.7
        for (text, expected) in [
            ("dir/$JOB_ID.$TASK_ID.$JOB_NAME.$USER.$HOSTNAME", Some("/w/dir/47.0.true.sh.alice.eh1")),
            ("rel/../y", Some("/w/rel/../y")),
            ("~bob/x", Some("/home/bob/x")),
            ("~/x", Some("/home/alice/x")),
            ("~", Some("/home/alice")),
            ("~nobody/x", None),
            ("$HOME/a$$b", Some("/home/alice/a$b")),
            ("/x/$JOB_IDX$FOO$", Some("/x/47X$FOO$")),
            ("", None),
        ] {
            assert_eq!(context().path(text, "/w".as_ref()).as_deref(), expected.map(OsStr::new), "{text}");
        }
    }

    #[test]
    fn the_entry_of_this_host_goes_before_the_one_without() {
        assert_eq!(for_host("/a,eh1:/b,other:/c", "EH1"), Some("/b"));
        assert_eq!(for_host("/a,other:/c", "eh1"), Some("/a"));
        assert_eq!(for_host(":/a", "eh1"), Some("/a"));
        assert_eq!(for_host("other:/c", "eh1"), None);
        assert_eq!(for_host("/a:b", "eh1"), Some("/a:b"));
    }
}
