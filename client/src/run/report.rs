//! What `oxherd run` says: notes and one line on failure for people, one object for programs.

use oxherd_execd::foreground::Finished;
use oxherd_execd::plan::JobPlan;
use oxherd_handoff::{ShepherdEnd, Usage};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// Collects notes for the object, or says them at once.
#[derive(Debug)]
pub(super) struct Report {
    json: bool,
    notes: Vec<String>,
}

impl Report {
    pub(super) const fn new(json: bool) -> Self {
        Self { json, notes: Vec::new() }
    }

    pub(super) fn note(&mut self, note: String) {
        if self.json {
            self.notes.push(note);
        } else {
            output::say(note);
        }
    }

    pub(super) fn notes(&mut self, notes: &[String]) {
        notes.iter().for_each(|note| self.note(note.clone()));
    }

    /// The decisions of a plan on stdout.
    pub(super) fn plan(&mut self, plan: &JobPlan, has_file: bool) {
        let decisions = plan.decisions();
        // Without a file there is no queue to speak of.
        let source = |text: &str| match text {
            "queue default" if !has_file => "built in".to_owned(),
            other => other.to_owned(),
        };
        if self.json {
            self.notes(&plan.notes);
            let list: Vec<_> = decisions
                .iter()
                .map(|found| json!({"name": found.name, "value": found.value, "source": source(&found.source)}))
                .collect();
            output::text(&output::json(&json!({"decisions": list, "notes": self.notes})));
            return;
        }
        let name = decisions.iter().map(|found| found.name.chars().count()).max().unwrap_or(0);
        // A single long value must not push every source out of sight.
        let value = decisions.iter().map(|found| found.value.chars().count()).max().unwrap_or(0).min(48);
        let lines: String = decisions
            .iter()
            .map(|found| {
                let shown = visible(&found.value);
                format!("{:<name$}  {shown:<value$}  {}\n", found.name, source(&found.source))
            })
            .collect();
        output::text(&lines);
        self.notes(&plan.notes);
    }

    /// The end of a job; gives the exit code.
    pub(super) fn finished(&mut self, finished: &Finished) -> u8 {
        let code = finished.exit_code();
        if let Some(leftover) = &finished.leftover {
            self.note(leftover.clone());
        }
        if !self.json {
            if let Some(complaint) = finished.complaint() {
                output::say(complaint);
            }
            if let Some(dir) = &finished.job_dir {
                output::say(format_args!("job directory kept: {}", dir.display()));
            }
            return code;
        }
        let outcome = &finished.outcome;
        let shepherd = match finished.shepherd {
            ShepherdEnd::Exited(code) => json!({"exited": code}),
            ShepherdEnd::Signalled(signal) => json!({"signal": signal}),
            ShepherdEnd::Unknown => Value::Null,
        };
        self.object(&json!({
            "own_error": null,
            "exit_code": code,
            "job_id": finished.job_id.0,
            "failed": outcome.failed,
            "description": outcome.description(),
            "reason": outcome.reason,
            "exit_status": outcome.usage.as_ref().map(|usage| usage.exit_status),
            "signal": outcome.usage.as_ref().map(|usage| usage.signal),
            "usage": outcome.usage.as_ref().map(usage),
            "shepherd": shepherd,
            "job_dir": finished.job_dir,
            "notes": self.notes,
        }));
        code
    }

    /// A failure of oxherd itself: no job ran.
    pub(super) fn failure(&mut self, failure: &Failure) {
        if !self.json {
            output::say(failure);
            return;
        }
        self.object(&json!({
            "own_error": failure.to_string(),
            "exit_code": failure.code,
            "job_id": null,
            "notes": self.notes,
        }));
    }

    fn object(&self, object: &Value) {
        output::error_text(&output::json(object));
    }
}

/// A value on one line: control characters are shown, everything else stays.
fn visible(value: &str) -> String {
    let show = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    value.chars().map(show).collect()
}

/// In the names and units of accounting.
fn usage(usage: &Usage) -> Value {
    json!({
        "start_time": usage.start_time,
        "end_time": usage.end_time,
        "ru_wallclock": usage.ru_wallclock,
        "ru_utime": usage.ru_utime,
        "ru_stime": usage.ru_stime,
        "ru_maxrss": usage.ru_maxrss,
        "ru_minflt": usage.ru_minflt,
        "ru_majflt": usage.ru_majflt,
        "ru_inblock": usage.ru_inblock,
        "ru_oublock": usage.ru_oublock,
        "ru_nvcsw": usage.ru_nvcsw,
        "ru_nivcsw": usage.ru_nivcsw,
    })
}
