//! The pseudo-XML of the communication library: elements in exactly one spelling, attributes in double quotes.
//!
//! No declarations, comments or processing instructions exist. Unknown elements are the caller's to skip.

use std::fmt::Write;

/// One element; texts are still escaped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) name: &'a str,
    attributes: &'a str,
    /// What stands between the tags.
    pub(crate) content: &'a str,
}

/// The longest name of an element.
const MAX_NAME: usize = 64;

impl<'a> Element<'a> {
    /// Reads the element `input` begins with; gives what follows it, too. `None` if there is none in this spelling.
    pub(crate) fn first(input: &'a str) -> Option<(Self, &'a str)> {
        let (tag, rest) = input.trim_ascii_start().strip_prefix('<')?.split_once('>')?;
        let (tag, empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            return None;
        }
        if empty {
            return Some((Self { name, attributes, content: "" }, rest));
        }
        let (content, rest) = rest.split_once(&format!("</{name}>"))?;
        Some((Self { name, attributes, content }, rest))
    }

    /// The elements inside, as far as they can be read.
    pub(crate) fn children(&self) -> Children<'a> {
        Children(self.content)
    }

    /// The first element of that name inside.
    pub(crate) fn child(&self, name: &str) -> Option<Self> {
        self.children().find(|child| child.name == name)
    }

    /// The value of an attribute, unescaped.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            let (key, tail) = rest.split_once("=\"")?;
            let (value, tail) = tail.split_once('"')?;
            if key.trim_ascii() == name {
                return Some(unescape(value));
            }
            rest = tail;
        }
    }

    /// The text inside, unescaped.
    pub(crate) fn text(&self) -> String {
        unescape(self.content)
    }
}

/// Walks over sibling elements; ends where the text is no element.
#[derive(Debug, Clone)]
pub(crate) struct Children<'a>(&'a str);

impl<'a> Iterator for Children<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (element, rest) = Element::first(self.0)?;
        self.0 = rest;
        Some(element)
    }
}

/// Entities as the peer writes them: newline and carriage return are swapped against XML.
const ENTITIES: [(char, &str); 8] = [
    ('&', "&amp;"),
    ('<', "&lt;"),
    ('>', "&gt;"),
    ('"', "&quot;"),
    ('\'', "&apos;"),
    ('\t', "&#x09;"),
    ('\n', "&#x0D;"),
    ('\r', "&#x0A;"),
];

/// A text as it stands between tags or quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match ENTITIES.iter().find(|(plain, _)| *plain == c) {
            Some((_, entity)) => out.push_str(entity),
            None => out.push(c),
        }
    }
    out
}

/// The text that was escaped. What is no known entity stays as it is.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('&') {
        out.push_str(before);
        let known = |(plain, entity): &(char, &str)| {
            let after = tail.strip_prefix(entity.strip_prefix('&')?)?;
            Some((*plain, after))
        };
        match ENTITIES.iter().find_map(known) {
            Some((plain, after)) => {
                out.push(plain);
                rest = after;
            }
            None => {
                out.push('&');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Appends `<name>value</name>`; the value needs no escaping.
pub(crate) fn plain(out: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing into a String cannot fail.
    let _ = write!(out, "<{name}>{value}</{name}>");
}

/// Appends `<name>text</name>` with the text escaped.
pub(crate) fn text(out: &mut String, name: &str, value: &str) {
    plain(out, name, escape(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_the_peers() {
        assert_eq!(escape("a&b<\n\r\t\"'>"), "a&amp;b&lt;&#x0D;&#x0A;&#x09;&quot;&apos;&gt;");
        assert_eq!(unescape("&lt;&amp;lt; &nosuch; & &"), "<&lt; &nosuch; & &");
    }

    #[test]
    fn elements_have_attributes_children_and_text() {
        let text = r#"<a x="1" host="n&amp;1"><new k="v"/><b>5</b><c></c></a>rest"#;
        let (element, rest) = Element::first(text).expect("an element");
        assert_eq!((element.name, rest), ("a", "rest"));
        assert_eq!(element.attribute("host").as_deref(), Some("n&1"));
        assert_eq!(element.attribute("port"), None);
        assert_eq!(element.child("b").expect("b").text(), "5");
        let names: Vec<&str> = element.children().map(|child| child.name).collect();
        assert_eq!(names, ["new", "b", "c"]);
        for broken in ["", "x", "<", "<a", "<a>", "<a></b>", "< a></a>", "<!-- x -->"] {
            assert!(Element::first(broken).is_none(), "{broken}");
        }
    }
}
