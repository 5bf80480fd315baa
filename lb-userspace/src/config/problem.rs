use std::{cell::RefCell, fmt};

/// What is wrong with a value, wherever it stands.
pub(super) use crate::refusal::Refusal as Wrong;

/// Something wrong at one place of a file.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, serde::Serialize)]
pub struct Problem {
    /// Where: `group[2].member[0].weight`, counted from 0. `line 3, column 7` in a text that is not
    /// TOML.
    pub path: String,
    /// What `docs/errors.md` calls it.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            code: _,
            message,
            mend,
        } = self;
        write!(f, "{path}: {message}; {mend}")
    }
}

/// All mistakes of a file, at least one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error, serde::Serialize)]
#[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Errors(pub Vec<Problem>);

impl Wrong {
    pub(super) fn at(self, path: impl Into<String>) -> Problem {
        let Self {
            code,
            message,
            mend,
        } = self;
        Problem {
            path: path.into(),
            code,
            message,
            mend,
        }
    }
}

/// Collects mistakes while a file is read.
#[derive(Debug, Default)]
pub(super) struct Report(RefCell<Vec<Problem>>);

impl Report {
    pub(super) fn add(&self, path: impl Into<String>, wrong: Wrong) {
        self.0.borrow_mut().push(wrong.at(path));
    }

    /// The value, if there was no mistake.
    pub(super) fn verdict<T>(self, value: Option<T>) -> Result<T, Errors> {
        let problems = self.0.into_inner();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            _ => Err(Errors(problems)),
        }
    }
}
