//! Rust source as words and the paths that they form, without comments and literals.
//!
//! Not a parser: just enough to see what code names, in `use` trees too. Macros are read as if
//! they were plain code.

use std::fmt;

/// A source text, cut into tokens.
pub(super) struct Source<'t> {
    tokens: Vec<Token<'t>>,
}

/// A path as code names it, `use` trees written out: `std::fs::File`, `println`, `.elapsed`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name<'t> {
    pub(super) line: usize,
    /// Its words; that of a field or a method has its dot.
    pub(super) path: Vec<&'t str>,
    /// The token after it: `(` for a call, `!` for a macro.
    pub(super) then: &'t str,
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.join("::"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token<'t> {
    /// Where it begins, in bytes.
    at: usize,
    line: usize,
    /// A word, a word with a dot before it, `::`, `..`, or one character.
    text: &'t str,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut tokens = Vec::new();
        let (mut at, mut line) = (0, 1);
        while at < text.len() {
            let (length, is_code) = next(&text[at..]);
            let text = &text[at..at + length];
            if is_code {
                tokens.push(Token { at, line, text });
            }
            line += text.matches('\n').count();
            at += length;
        }
        Self { tokens }
    }

    /// The lines where a word stands.
    pub(super) fn lines_with(&self, word: &str) -> Vec<usize> {
        let found = self.tokens.iter().filter(|token| token.text == word);
        found.map(|token| token.line).collect()
    }

    /// The source without the items under `#[cfg(test)]`.
    pub(super) fn without_tests(&self) -> Self {
        let mut tokens = Vec::new();
        let mut rest = &self.tokens[..];
        while let Some((first, tail)) = rest.split_first() {
            if is_cfg_test(rest) {
                rest = after_item(rest);
            } else {
                tokens.push(*first);
                rest = tail;
            }
        }
        Self { tokens }
    }

    /// All paths, in order.
    pub(super) fn names(&self) -> Vec<Name<'t>> {
        let mut names = Vec::new();
        let mut rest = &self.tokens[..];
        while let Some((first, tail)) = rest.split_first() {
            rest = if is_word(first.text) {
                tree(&[], rest, &mut names)
            } else {
                tail
            };
        }
        names
    }
}

/// Reads one path, or one tree of a `use`, whose front is `prefix`; the answer is what follows it.
fn tree<'s, 't>(
    prefix: &[&'t str],
    mut rest: &'s [Token<'t>],
    names: &mut Vec<Name<'t>>,
) -> &'s [Token<'t>] {
    let line = rest.first().map_or(0, |token| token.line);
    let mut path = prefix.to_vec();
    while let [word, tail @ ..] = rest
        && is_word(word.text)
    {
        path.push(word.text);
        rest = tail;
        let end = word.at + word.text.len();
        match rest {
            // In `use ::a` the word is not part of the path.
            [separator, tail @ ..] if separator.text == "::" && separator.at == end => rest = tail,
            _ => break,
        }
        if let [brace, inner @ ..] = rest
            && brace.text == "{"
        {
            return trees(&path, inner, names);
        }
    }
    if path.len() > prefix.len() {
        let then = rest.first().map_or("", |token| token.text);
        names.push(Name { line, path, then });
    }
    rest
}

/// Reads the trees between the braces of a `use`.
fn trees<'s, 't>(
    prefix: &[&'t str],
    mut rest: &'s [Token<'t>],
    names: &mut Vec<Name<'t>>,
) -> &'s [Token<'t>] {
    while let Some((first, tail)) = rest.split_first() {
        rest = match first.text {
            "}" => return tail,
            // The new name of `use a as b` is no path of its own.
            "as" => tail.get(1..).unwrap_or_default(),
            word if is_word(word) => tree(prefix, rest, names),
            _ => tail,
        };
    }
    rest
}

fn is_cfg_test(tokens: &[Token<'_>]) -> bool {
    let start = tokens.iter().map(|token| token.text).take(7);
    start.eq(["#", "[", "cfg", "(", "test", ")", "]"])
}

/// What follows an item: it ends with its block, or with a semicolon outside of brackets.
fn after_item<'s, 't>(tokens: &'s [Token<'t>]) -> &'s [Token<'t>] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(token.text, "}" | ";") {
            return &tokens[at + 1..];
        }
    }
    &[]
}

fn is_word(token: &str) -> bool {
    token
        .strip_prefix('.')
        .unwrap_or(token)
        .starts_with(is_word_char)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of what `text` begins with, and whether it is code.
fn next(text: &str) -> (usize, bool) {
    match text.as_bytes() {
        [b'/', b'/', ..] => (text.find('\n').unwrap_or(text.len()), false),
        [b'/', b'*', ..] => (block_comment(text), false),
        [b'"', ..] => (quoted(text, '"'), false),
        [b'\'', ..] => (char_or_lifetime(text), false),
        [b':', b':', ..] | [b'.', b'.', ..] => (2, true),
        [b'.', ..] => (1 + word(&text[1..]), true),
        _ => match text.chars().next() {
            Some(c) if is_word_char(c) => word_or_literal(text),
            Some(c) => (c.len_utf8(), !c.is_whitespace()),
            None => (0, false),
        },
    }
}

fn word(text: &str) -> usize {
    text.find(|c| !is_word_char(c)).unwrap_or(text.len())
}

/// A word, or the literal whose prefix it is: `b".."`, `br#".."#`, `b'x'`; `r#name` is a word.
fn word_or_literal(text: &str) -> (usize, bool) {
    let length = word(text);
    let (prefix, tail) = text.split_at(length);
    let hashes = tail.len() - tail.trim_start_matches('#').len();
    match prefix {
        "r" | "br" | "cr" if tail[hashes..].starts_with('"') => {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = length + hashes + 1;
            let found = text[body..].find(&end);
            (found.map_or(text.len(), |at| body + at + end.len()), false)
        }
        "b" | "c" if tail.starts_with('"') => (length + quoted(tail, '"'), false),
        "b" if tail.starts_with('\'') => (length + quoted(tail, '\''), false),
        _ => (length, true),
    }
}

/// The length of a literal up to its closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn char_or_lifetime(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    let (first, second) = (chars.next(), chars.next());
    if first == Some('\\') || second == Some('\'') {
        quoted(text, '\'')
    } else {
        1 + word(&text[1..])
    }
}

/// The length of a comment up to its end; comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let names = Source::new(text).names();
        names.iter().map(Name::to_string).collect()
    }

    #[test]
    fn a_tree_of_a_use_is_written_out() {
        assert_eq!(
            names("use std::{fmt, net::{self, IpAddr as Ip, tcp::*}, time::Instant};"),
            [
                "use",
                "std::fmt",
                "std::net::self",
                "std::net::IpAddr",
                "std::net::tcp",
                "std::time::Instant"
            ]
        );
    }

    #[test]
    fn a_name_knows_whether_it_is_called() {
        let source = Source::new("a.b().c; d!(); 0..e::f::<G>(); r#type");
        let names = source.names();
        let names = names.iter().map(|name| (name.to_string(), name.then));
        let expected = [
            ("a", ".b"),
            (".b", "("),
            (".c", ";"),
            ("d", "!"),
            ("0", ".."),
            ("e::f", "<"),
            ("G", ">"),
            ("r", "#"),
            ("type", ""),
        ];
        assert!(names.eq(expected.map(|(name, then)| (name.to_owned(), then))));
    }

    #[test]
    fn text_that_breaks_off_anywhere_is_read_to_its_end() {
        let text =
            "#[cfg(test)] mod a { /* x /* */ */ use b::{c, d as e}; r#\"é\"# b'\\'' \"\\n\" 'x' }";
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let source = Source::new(&text[..end]);
            source.names();
            source.without_tests().names();
        }
    }
}
