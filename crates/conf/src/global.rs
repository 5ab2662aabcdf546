//! The global and the host-local configuration (sge_conf(5)), as far as an execution host reads it.

use oxherd_model::limit::{Limit, Seconds};
use oxherd_model::procedure::Procedure;
use oxherd_model::shell_start_mode::ShellStartMode;

use crate::attribute::Kind;
use crate::diagnostic::Diagnostic;
use crate::document::{Document, Schema, Unknown};
use crate::value::words;

/// `NAME=VALUE` settings of `execd_params` and its likes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(pub Vec<(String, Option<String>)>);

impl Params {
    /// Splits at blanks, commas and semicolons; `none` is empty.
    pub fn parse(text: &str) -> Self {
        if text.eq_ignore_ascii_case("none") {
            return Self::default();
        }
        let is_separator = |c: char| c == ',' || c == ';' || c.is_whitespace();
        let pair = |word: &str| match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word.to_owned(), None),
        };
        Self(text.split(is_separator).filter(|word| !word.is_empty()).map(pair).collect())
    }

    /// The last value of a name, which has no case. `Some("")` for a name without `=`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_deref().unwrap_or(""))
    }

    /// A switch; a name without value means on.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        match self.get(name) {
            None => default,
            Some(text) => {
                text.is_empty()
                    || oxherd_model::specifier::parse_bool(text).map_or(default, |parsed| parsed.value)
            }
        }
    }
}

/// The configuration of an execution host.
#[derive(Debug, Clone)]
pub struct GlobalConf {
    /// Everything as written; global first, then the host's own.
    pub documents: Vec<Document>,
    /// Where the job directories' parent lies.
    pub execd_spool_dir: String,
    /// Mail program, `none` included.
    pub mailer: String,
    /// Load sensor commands.
    pub load_sensor: Vec<String>,
    /// Used where a queue's prolog is NONE.
    pub prolog: Option<Procedure>,
    /// Used where a queue's epilog is NONE.
    pub epilog: Option<Procedure>,
    /// Used where a queue says nothing (no queue of 8.1.9 does).
    pub shell_start_mode: ShellStartMode,
    /// Names of shells that are started as login shells.
    pub login_shells: Vec<String>,
    /// Lowest uid of a job owner.
    pub min_uid: u32,
    /// Lowest gid of a job owner.
    pub min_gid: u32,
    /// Time between load reports.
    pub load_report_time: Limit<Seconds>,
    /// Who gets mail about trouble.
    pub administrator_mail: Vec<String>,
    /// Program in place of the shepherd.
    pub shepherd_cmd: Option<String>,
    /// Settings of the execution daemon.
    pub execd_params: Params,
    /// Settings of the qmaster, of which the execution daemon reads a few.
    pub qmaster_params: Params,
    /// Additional group ids, first and last of each range.
    pub gid_range: Vec<(u32, u32)>,
    /// Whether nice values follow tickets.
    pub reprioritize: bool,
}

/// Entries of a global configuration (`qconf -sconf` of 8.1.9 and sge_conf(5)).
const SCHEMA: Schema = Schema {
    what: "configuration",
    required: &[],
    optional: &[
        "execd_spool_dir",
        "mailer",
        "xterm",
        "load_sensor",
        "prolog",
        "epilog",
        "shell_start_mode",
        "login_shells",
        "min_uid",
        "min_gid",
        "user_lists",
        "xuser_lists",
        "projects",
        "xprojects",
        "enforce_project",
        "enforce_user",
        "load_report_time",
        "max_unheard",
        "reschedule_unknown",
        "loglevel",
        "administrator_mail",
        "set_token_cmd",
        "pag_cmd",
        "token_extend_time",
        "shepherd_cmd",
        "qmaster_params",
        "execd_params",
        "reporting_params",
        "finished_jobs",
        "gid_range",
        "qlogin_command",
        "qlogin_daemon",
        "rlogin_command",
        "rlogin_daemon",
        "rsh_command",
        "rsh_daemon",
        "max_aj_instances",
        "max_aj_tasks",
        "max_u_jobs",
        "max_jobs",
        "max_advance_reservations",
        "auto_user_oticket",
        "auto_user_fshare",
        "auto_user_default_project",
        "auto_user_delete_time",
        "delegated_file_staging",
        "reprioritize",
        "jsv_url",
        "jsv_allowed_mod",
        "libjvm_path",
        "additional_jvm_args",
    ],
    unknown: Unknown::Kept,
};

/// Entries that a host's own configuration cannot change (sge_conf(5)).
const GLOBAL_ONLY: &[&str] = &[
    "min_uid",
    "min_gid",
    "max_unheard",
    "loglevel",
    "administrator_mail",
    "qmaster_params",
    "reprioritize",
    "enforce_project",
    "enforce_user",
    "user_lists",
    "xuser_lists",
    "projects",
    "xprojects",
    "finished_jobs",
    "max_aj_instances",
    "max_aj_tasks",
    "max_u_jobs",
    "max_jobs",
];

impl GlobalConf {
    /// Reads the global configuration. There is one unless a diagnostic is an error.
    pub fn read(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (document, mut diagnostics) = Document::read(file, text, &SCHEMA);
        let mut conf = Self::compiled_defaults();
        conf.overlay(document, &mut diagnostics);
        finish(conf, diagnostics)
    }

    /// Lays a host's own configuration over this one. Entries that only the global one may set get a warning.
    pub fn read_local(mut self, file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (document, mut diagnostics) = Document::read(file, text, &SCHEMA);
        for (name, _) in document.iter().filter(|(name, _)| GLOBAL_ONLY.contains(name)) {
            let message = "only the global configuration sets this; no effect here".to_owned();
            let mut diagnostic = document.error(name, "conf-global-only", message);
            diagnostic.severity = crate::diagnostic::Severity::Warning;
            diagnostics.push(diagnostic);
        }
        let (uid, gid) = (self.min_uid, self.min_gid);
        let (mail, params) = (self.administrator_mail.clone(), self.qmaster_params.clone());
        let reprioritize = self.reprioritize;
        self.overlay(document, &mut diagnostics);
        let local = Self {
            min_uid: uid,
            min_gid: gid,
            administrator_mail: mail,
            qmaster_params: params,
            reprioritize,
            ..self
        };
        finish(local, diagnostics)
    }

    /// What 8.1.9 uses for absent entries.
    fn compiled_defaults() -> Self {
        Self {
            documents: Vec::new(),
            execd_spool_dir: String::new(),
            mailer: "/bin/mail".to_owned(),
            load_sensor: Vec::new(),
            prolog: None,
            epilog: None,
            shell_start_mode: ShellStartMode::PosixCompliant,
            login_shells: Vec::new(),
            min_uid: 0,
            min_gid: 0,
            load_report_time: Limit::Value(Seconds(40)),
            administrator_mail: Vec::new(),
            shepherd_cmd: None,
            execd_params: Params::default(),
            qmaster_params: Params::default(),
            gid_range: Vec::new(),
            reprioritize: true,
        }
    }

    fn overlay(&mut self, document: Document, out: &mut Vec<Diagnostic>) {
        macro_rules! take {
            ($($field:ident: $kind:ident),*) => {
                $(self.$field = document.typed(stringify!($field), Kind::$kind, self.$field.clone(), out);)*
            };
        }
        take!(
            execd_spool_dir: Directory, mailer: Directory, prolog: Procedure, epilog: Procedure,
            login_shells: Names, min_uid: Number, min_gid: Number, load_report_time: Time,
            administrator_mail: Names, shepherd_cmd: Starter, reprioritize: Bool
        );
        // The text `none` is legal here, other than in a queue.
        if document.get("shell_start_mode").is_some_and(|text| !text.eq_ignore_ascii_case("none")) {
            take!(shell_start_mode: StartMode);
        }
        if let Some(text) = document.get("load_sensor") {
            let is_none = text.eq_ignore_ascii_case("none");
            let commands = text.split(',').map(str::trim).filter(|command| !command.is_empty() && !is_none);
            self.load_sensor = commands.map(str::to_owned).collect();
        }
        for (name, field) in
            [("execd_params", &mut self.execd_params), ("qmaster_params", &mut self.qmaster_params)]
        {
            if let Some(text) = document.get(name) {
                *field = Params::parse(text);
            }
        }
        if let Some(text) = document.get("gid_range") {
            match gid_range(text) {
                Some(range) => self.gid_range = range,
                None => {
                    let message = format!("expected ranges like `64000-64999` or `none`, found `{text}`");
                    out.push(document.error("gid_range", "conf-gid-range", message));
                }
            }
        }
        self.documents.push(document);
    }
}

fn gid_range(text: &str) -> Option<Vec<(u32, u32)>> {
    if text.eq_ignore_ascii_case("none") {
        return Some(Vec::new());
    }
    words(text)
        .map(|(_, word)| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let range = (first.parse().ok()?, last.parse().ok()?);
            (range.0 <= range.1).then_some(range)
        })
        .collect()
}

fn finish(conf: GlobalConf, mut diagnostics: Vec<Diagnostic>) -> (Option<GlobalConf>, Vec<Diagnostic>) {
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    let is_usable = !diagnostics.iter().any(Diagnostic::is_error);
    (is_usable.then_some(conf), diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_are_pairs_in_any_case() {
        let params =
            Params::parse("KEEP_ACTIVE=true, PDC_INTERVAL=5;H_DESCRIPTORS=99 USE_SMAPS keep_active=0");
        assert!(!params.flag("KEEP_ACTIVE", true));
        assert!(params.flag("use_smaps", false));
        assert_eq!((params.get("pdc_interval"), params.get("INHERIT_ENV")), (Some("5"), None));
        assert_eq!(Params::parse("none"), Params::default());
    }

    #[test]
    fn a_host_overrides_only_what_it_may() {
        let (global, diagnostics) =
            GlobalConf::read("global", "min_uid 1000\nprolog /g\ngid_range 64000-64999,7\n");
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let global = global.unwrap();
        assert_eq!(global.gid_range, [(64000, 64999), (7, 7)]);
        let (local, diagnostics) = global.read_local("n1", "prolog root@/l $host\nmin_uid 5\nfoo bar\n");
        let codes: Vec<_> = diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(codes, ["conf-global-only", "object-unknown-name"]);
        let local = local.unwrap();
        assert_eq!((local.min_uid, local.prolog.unwrap().user.as_deref()), (1000, Some("root")));
    }

    #[test]
    fn broken_entries_are_errors() {
        let (conf, diagnostics) =
            GlobalConf::read("global", "min_uid x\ngid_range 9-1\nload_report_time 1d\n");
        assert!(conf.is_none());
        assert_eq!(diagnostics.len(), 3, "{diagnostics:?}");
    }
}
