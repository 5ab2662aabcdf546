//! Grid Engine's options have one dash and many letters: `-cwd`, `-shell n`, `-pe smp 4`. Here they become what clap
//! knows, as far as the first word that is no option: everything behind it is the job's.

use std::ffi::OsString;

use clap::Command;

/// `-cwd` is `--cwd`.
const FLAGS: [&str; 2] = ["-cwd", "-notify"];
/// `-wd DIR` is `--wd DIR`.
const VALUED: [&str; 2] = ["-wd", "-shell"];

/// Rewrites the words of `oxherd run`; other commands have no such options.
pub(crate) fn modern(words: Vec<OsString>, cli: &Command) -> Vec<OsString> {
    if words.get(1).is_none_or(|word| word != "run") {
        return words;
    }
    let Some(run) = cli.find_subcommand("run") else { return words };
    let takes_value = |word: &str| {
        run.get_arguments().any(|argument| {
            let long = argument.get_long().is_some_and(|name| word.strip_prefix("--") == Some(name));
            let short = argument.get_short().is_some_and(|name| {
                word.strip_prefix('-').is_some_and(|rest| rest.chars().eq(std::iter::once(name)))
            });
            (long || short) && argument.get_action().takes_values()
        })
    };
    let mut words = words.into_iter();
    let mut out: Vec<OsString> = words.by_ref().take(2).collect();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or("");
        if !text.starts_with('-') || text == "--" || text == "-" {
            out.push(word);
            break;
        }
        if FLAGS.contains(&text) {
            out.push(format!("-{text}").into());
        } else if VALUED.contains(&text) {
            out.push(format!("-{text}").into());
            out.extend(words.next());
        } else if text == "-pe" {
            out.push("--pe".into());
            out.extend(words.next());
            out.push("--slots".into());
            out.extend(words.next());
        } else {
            let valued = takes_value(text);
            out.push(word);
            if valued {
                out.extend(words.next());
            }
        }
    }
    out.extend(words);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args as _;

    fn check(line: &str, expected: &str) {
        let run = crate::run::RunArguments::augment_args(Command::new("run"));
        let cli = Command::new("oxherd").subcommand(run);
        let words = line.split(' ').map(OsString::from).collect();
        let modern: Vec<_> =
            modern(words, &cli).into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(modern.join(" "), expected);
    }

    #[test]
    fn options_with_one_dash_get_another() {
        check("oxherd run -cwd -notify x -cwd", "oxherd run --cwd --notify x -cwd");
        check("oxherd run -shell n -b y x -shell", "oxherd run --shell n -b y x -shell");
        check("oxherd run -pe smp 4 x", "oxherd run --pe smp --slots 4 x");
        check("oxherd run -l h_rt=1 -wd /tmp -- -cwd", "oxherd run -l h_rt=1 --wd /tmp -- -cwd");
        check("oxherd run --queue -cwd x", "oxherd run --queue -cwd x");
        check("oxherd run --queue=q -cwd x", "oxherd run --queue=q --cwd x");
        check("oxherd lint -cwd", "oxherd lint -cwd");
    }
}
