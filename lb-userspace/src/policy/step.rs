//! What stages do with the members that are in the running.

use std::{fmt, slice};

use super::{Removal, candidate::Candidate};

/// The members that are in the running, in the group's order.
pub(super) struct Candidates<'a> {
    all: Vec<&'a Candidate<'a>>,
    /// Somebody asks why: reasons and notes are written down.
    explained: bool,
}

/// What a stage makes of its candidates.
pub(super) enum Step<'a> {
    /// The kept ones go on to the next stage.
    Narrowed(Split<'a>),
    /// The same, though they are not healthy.
    BestEffort(Split<'a>),
    /// The same, and only they decide how they share.
    Preferred(Split<'a>),
    /// The kept ones get equal parts; no further stage is asked.
    RoundRobin(Split<'a>),
    /// The backup group decides.
    Backup(Note),
    /// Nobody gets anything.
    NoAnswer(Note),
}

/// A text for people; none if nobody asks.
pub(super) type Note = Option<String>;

/// Candidates whom a stage keeps, and why it does not keep the others.
pub(super) struct Split<'a> {
    pub(super) kept: Candidates<'a>,
    pub(super) removed: Vec<Removal>,
    pub(super) note: Note,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(members: &'a [Candidate<'a>], explained: bool) -> Self {
        Self {
            all: members.iter().collect(),
            explained,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn iter(&self) -> std::iter::Copied<slice::Iter<'_, &'a Candidate<'a>>> {
        self.all.iter().copied()
    }

    /// Keeps those that `stays` says it of; `why` tells of the others why not.
    pub(super) fn keep(
        mut self,
        stays: impl Fn(&Candidate<'a>) -> bool,
        why: impl Fn(&Candidate<'a>) -> String,
    ) -> Split<'a> {
        let mut removed = Vec::new();
        if self.explained {
            let others = self.iter().filter(|it| !stays(it));
            removed.extend(others.map(|it| Removal {
                member: it.index,
                why: why(it),
            }));
        }
        self.all.retain(|it| stays(it));
        Split {
            kept: self,
            removed,
            note: None,
        }
    }

    /// Keeps everybody.
    pub(super) fn keep_all(self) -> Split<'a> {
        Split {
            kept: self,
            removed: Vec::new(),
            note: None,
        }
    }

    /// The text, if somebody asks.
    pub(super) fn note(&self, text: fmt::Arguments<'_>) -> Note {
        self.explained.then(|| text.to_string())
    }

    /// What `find` finds among them for a text, if somebody asks.
    pub(super) fn asked<T>(
        &self,
        find: impl FnOnce(std::iter::Copied<slice::Iter<'_, &'a Candidate<'a>>>) -> T,
    ) -> Option<T> {
        self.explained.then(|| find(self.iter()))
    }
}

impl Split<'_> {
    pub(super) fn with_note(self, note: fmt::Arguments<'_>) -> Self {
        Self {
            note: self.kept.note(note),
            ..self
        }
    }
}
