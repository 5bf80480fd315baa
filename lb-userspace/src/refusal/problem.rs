use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{Code, Refusal};

/// A refusal, or something to be warned of, with its place.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Problem {
    /// Where in a file: `group[2].member[0].weight`, counted from 0. `line 3, column 7` in a text
    /// that is not TOML. None for what concerns no single place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What `docs/errors.md` calls it.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        write!(f, "{}; {}", self.message, self.mend)
    }
}

impl Problem {
    /// The line of a warning, with its code.
    pub fn warning(&self) -> String {
        format!("warning[{}]: {self}", self.code)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let Refusal {
            code,
            message,
            mend,
        } = refusal;
        Self {
            path: None,
            code,
            message,
            mend,
        }
    }
}

impl Refusal {
    pub(crate) fn at(self, path: impl Into<String>) -> Problem {
        Problem {
            path: Some(path.into()),
            ..self.into()
        }
    }
}

/// All mistakes of a text, at least one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Errors(pub Vec<Problem>);

/// Why something was not done, as it is printed: a line for each reason, with its code.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Refused {
    /// The file that has the mistakes, if they are those of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The reasons, at least one.
    pub errors: Vec<Problem>,
    /// How things stand now, where that is a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Refused {
    /// For the mistakes of a file.
    pub fn file(path: impl Into<PathBuf>, Errors(errors): Errors) -> Self {
        Self {
            file: Some(path.into()),
            errors,
            note: None,
        }
    }

    /// The same, with how things stand now.
    pub(crate) fn noting(self, note: &str) -> Self {
        let note = Some(note.to_owned());
        Self { note, ..self }
    }

    /// Whether this is among the reasons.
    pub fn has(&self, code: &str) -> bool {
        self.errors.iter().any(|error| error.code == code)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self {
            file: None,
            errors: vec![refusal.into()],
            note: None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if let Some(file) = &self.file {
            let mistakes = match self.errors.len() {
                1 => "a mistake".to_owned(),
                number => format!("{number} mistakes"),
            };
            lines.push(format!("error: {} has {mistakes}:", file.display()));
        }
        let errors = self.errors.iter();
        lines.extend(errors.map(|error| format!("error[{}]: {error}", error.code)));
        lines.extend(self.note.iter().map(|note| format!("note: {note}")));
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Refused {}
