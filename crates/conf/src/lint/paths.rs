//! Programs, directories and the variables in command lines.

use oxherd_model::method::Method;
use oxherd_model::procedure::{METHOD_VARIABLES, PROLOG_VARIABLES, variables};

use super::{Lint, ProgramState, part};
use crate::attribute::closest_of;
use crate::host_value::Written;
use crate::value::Value;

const METHODS: [&str; 3] = ["suspend_method", "resume_method", "terminate_method"];

pub(super) fn check(lint: &mut Lint<'_>) {
    for name in ["prolog", "epilog"] {
        for written in lint.values(name) {
            let Value::Procedure(Some(procedure)) = &written.value else { continue };
            program(lint, name, written, procedure.program());
            pseudo_variables(lint, name, written, PROLOG_VARIABLES);
        }
    }
    for name in METHODS {
        for written in lint.values(name) {
            let Value::Method(Method::Command(command)) = &written.value else { continue };
            program(lint, name, written, command.split_whitespace().next().unwrap_or(""));
            pseudo_variables(lint, name, written, METHOD_VARIABLES);
        }
    }
    for written in lint.values("starter_method") {
        let Value::Optional(Some(path)) = &written.value else { continue };
        whole_path(lint, "starter_method", written, path);
    }
    for written in lint.values("shell") {
        let Value::Path(path) = &written.value else { continue };
        whole_path(lint, "shell", written, path);
    }
    for written in lint.values("tmpdir") {
        let Value::Path(path) = &written.value else { continue };
        tmpdir(lint, written, path);
    }
}

/// The value is one path; arguments are not split off (observed on 8.1.9).
fn whole_path(lint: &mut Lint<'_>, name: &str, written: &Written<Value>, path: &str) {
    if path.contains(char::is_whitespace) {
        let message = format!("`{name}` is one path; there is no program `{path}` with arguments");
        lint.warn("queue-path-with-blank", written.span, message).help =
            Some("write a script that passes the arguments".to_owned());
        return;
    }
    program(lint, name, written, path);
}

fn program(lint: &mut Lint<'_>, name: &str, written: &Written<Value>, path: &str) {
    let from = written.text.find(path).unwrap_or(0);
    let span = part(written, &(from..from + path.len()));
    if !path.starts_with('/') {
        let message = format!("`{name}`: expected an absolute path, found `{path}`");
        lint.warn("queue-relative-path", span, message).help = Some(
            "a relative path is looked up in each job's directory, where its owner can put anything"
                .to_owned(),
        );
        return;
    }
    // What it becomes is known only when a job runs.
    if path.contains('$') {
        return;
    }
    match lint.context.programs.map(|programs| programs.state(path)) {
        Some(ProgramState::Missing) => {
            lint.warn("queue-program-missing", span, format!("`{name}`: there is no `{path}` on this host"));
        }
        Some(ProgramState::NotExecutable) => {
            lint.warn("queue-program-not-executable", span, format!("`{name}`: `{path}` is not executable"));
        }
        Some(ProgramState::Executable | ProgramState::Unknown) | None => {}
    }
}

fn pseudo_variables(lint: &mut Lint<'_>, name: &str, written: &Written<Value>, known: &[&str]) {
    for (at, variable) in variables(&written.text) {
        if known.contains(&variable) {
            continue;
        }
        let span = part(written, &(at..at + 1 + variable.len()));
        let message = match variable {
            "" => format!("`{name}`: a lone `$` is an error in 8.1.9"),
            _ => format!("`{name}`: there is no variable `${variable}`"),
        };
        let meant = closest_of(variable, known.iter().copied());
        let help = meant.map_or_else(
            || format!("known are {}", known.iter().map(|v| format!("${v}")).collect::<Vec<_>>().join(" ")),
            |meant| format!("did you mean `${meant}`?"),
        );
        lint.warn("queue-unknown-variable", span, message).help = Some(help);
    }
}

fn tmpdir(lint: &mut Lint<'_>, written: &Written<Value>, path: &str) {
    let problem = if path.eq_ignore_ascii_case("none") {
        "`tmpdir` is a directory; `NONE` is taken as a relative path"
    } else if !path.starts_with('/') {
        "`tmpdir` is no absolute path"
    } else if path.contains(char::is_whitespace) {
        "`tmpdir` contains a blank, which job scripts rarely quote"
    } else if lint.context.programs.and_then(|programs| programs.is_directory(path)) == Some(false) {
        "`tmpdir` is no directory on this host"
    } else {
        return;
    };
    let message = format!("{problem}: `{path}`");
    lint.warn("queue-tmpdir", written.span, message).help = Some("the usual one is `/tmp`".to_owned());
}
