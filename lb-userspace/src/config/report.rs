use std::cell::RefCell;

use crate::refusal::{Errors, Problem};

/// What is wrong with a value, wherever it stands.
pub(super) use crate::refusal::Refusal as Wrong;

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
