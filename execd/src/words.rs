//! Words of an option line, quoted as in a shell.

/// Why a line cannot be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A quote without its partner.
    #[error("the quote `{0}` is not closed")]
    Unclosed(char),
    /// A backslash is the last character.
    #[error("nothing follows the backslash at the end")]
    LoneBackslash,
}

/// Splits a line at blanks. `'` keeps everything, `"` keeps everything but `\"` and `\\`, a backslash outside quotes
/// keeps the next character; a word that starts with `#` and all that follows it is a comment.
///
/// # Errors
/// An open quote, or a backslash before nothing.
pub fn split(line: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            c if c.is_whitespace() => words.extend(word.take()),
            '#' if word.is_none() => break,
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err(WordsError::Unclosed('\'')),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('\\') => match characters.next() {
                            Some(c @ ('"' | '\\')) => word.push(c),
                            Some(c) => word.extend(['\\', c]),
                            None => return Err(WordsError::Unclosed('"')),
                        },
                        Some(c) => word.push(c),
                        None => return Err(WordsError::Unclosed('"')),
                    }
                }
            }
            '\\' => match characters.next() {
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err(WordsError::LoneBackslash),
            },
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        for (line, expected) in [
            ("", &[][..]),
            (" -N  x ", &["-N", "x"]),
            ("-v 'A=a b'", &["-v", "A=a b"]),
            (r#"-v A="a \"b\" $c \n""#, &["-v", r#"A=a "b" $c \n"#]),
            (r"-wd /a\ b", &["-wd", "/a b"]),
            ("-e ''", &["-e", ""]),
            ("-N x # why", &["-N", "x"]),
            ("-N x#y", &["-N", "x#y"]),
        ] {
            assert_eq!(split(line).expect(line), expected, "{line}");
        }
    }

    #[test]
    fn open_quotes_are_refused() {
        assert_eq!(split("-v 'x"), Err(WordsError::Unclosed('\'')));
        assert_eq!(split("-v \"x\\"), Err(WordsError::Unclosed('"')));
        assert_eq!(split("x \\"), Err(WordsError::LoneBackslash));
    }
}
