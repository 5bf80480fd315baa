use super::DataFile;
use crate::refusal::Problem;

/// What a file was when it was looked at: after any change it is another one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Stamp {
    /// Its number in the file system.
    pub inode: u64,
    /// Its length in bytes.
    pub size: u64,
    /// When content, name or rights were changed: seconds and nanoseconds.
    pub changed: (i64, i64),
}

/// Says when files are to be read again: when one has become another one since they were read, and
/// none has changed since the last look, so that who writes one slowly is likely done.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Watch {
    /// As they were when they were last read, well or not.
    read: Vec<Option<Stamp>>,
    /// As they were at the last look.
    seen: Vec<Option<Stamp>>,
    reading: bool,
}

impl Watch {
    /// Watches files that were just read.
    pub fn new(files: &[DataFile]) -> Self {
        let read: Vec<_> = files.iter().map(|file| file.stamp).collect();
        Self {
            seen: read.clone(),
            read,
            reading: false,
        }
    }

    /// Looks at what the files are now; whether they are to be read now.
    pub fn look(&mut self, now: Vec<Option<Stamp>>) -> bool {
        let rest = now == self.seen;
        let due = rest && now != self.read && !self.reading;
        if due {
            self.read.clone_from(&now);
            self.reading = true;
        }
        self.seen = now;
        due
    }

    /// The reading that [`Self::look`] asked for has ended.
    pub fn done(&mut self) {
        self.reading = false;
    }

    /// For each file why it was not taken, when reading them has failed: what is wrong with it, or
    /// with all together in each that is another one than that of `files`.
    pub fn broken(&self, files: &[DataFile], problems: &[Problem]) -> Vec<Option<Problem>> {
        let own = |file: &DataFile| {
            let mut problems = problems.iter();
            problems.find(|it| it.path.as_deref() == Some(file.key.as_str()))
        };
        let is_own = |problem: &&Problem| {
            let path = problem.path.as_deref();
            files.iter().any(|file| path == Some(file.key.as_str()))
        };
        let others = problems.iter().find(|problem| !is_own(problem));
        let files = files.iter().zip(&self.read);
        let why = |(file, stamp): (&DataFile, &Option<Stamp>)| {
            let shared = others.filter(|_| file.stamp != *stamp);
            own(file).or(shared).cloned()
        };
        files.map(why).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal;

    fn stamp(changed: i64) -> Option<Stamp> {
        Some(Stamp {
            inode: 1,
            size: 2,
            changed: (changed, 0),
        })
    }

    fn files() -> [DataFile; 2] {
        [0, 1].map(|i| DataFile {
            key: format!("latency.files[{i}]"),
            path: format!("/{i}").into(),
            stamp: stamp(0),
        })
    }

    #[test]
    fn files_are_read_again_when_a_change_rests() {
        let mut watch = Watch::new(&files());
        assert!(!watch.look(vec![stamp(0), stamp(0)]), "nothing changed");
        assert!(!watch.look(vec![stamp(0), stamp(1)]), "it may go on");
        assert!(!watch.look(vec![stamp(0), stamp(2)]), "it goes on");
        assert!(watch.look(vec![stamp(0), stamp(2)]));
        assert!(!watch.look(vec![stamp(0), stamp(3)]));
        assert!(!watch.look(vec![stamp(0), stamp(3)]), "it is being read");
        watch.done();
        assert!(watch.look(vec![stamp(0), stamp(3)]), "changed meanwhile");
        watch.done();
        assert!(!watch.look(vec![stamp(0), stamp(3)]), "read once");
        assert!(!watch.look(vec![None, stamp(3)]));
        assert!(watch.look(vec![None, stamp(3)]), "gone is a change too");
        watch.done();
        assert!(!watch.look(vec![stamp(0), stamp(3)]));
        assert!(watch.look(vec![stamp(0), stamp(3)]), "and back");
    }

    #[test]
    fn a_change_while_they_were_read_is_seen() {
        let mut files = files();
        files[0].stamp = stamp(7);
        let mut watch = Watch::new(&files);
        assert!(!watch.look(vec![stamp(8), stamp(0)]));
        assert!(watch.look(vec![stamp(8), stamp(0)]));
    }

    #[test]
    fn what_is_wrong_is_said_of_the_file_that_it_is_in() {
        let mut watch = Watch::new(&files());
        watch.look(vec![stamp(1), stamp(0)]);
        watch.look(vec![stamp(1), stamp(0)]);
        let own = refusal::data::empty_data().at("latency.files[1]");
        let other = refusal::data::empty_data().at("group[0].probe.ca_file");
        let broken = |problems: &[Problem]| watch.broken(&files(), problems);
        let [own_only, other_only] = [Some(own.clone()), Some(other.clone())];
        assert_eq!(broken(&[]), [None, None]);
        assert_eq!(broken(std::slice::from_ref(&own)), [None, own_only.clone()]);
        assert_eq!(
            broken(std::slice::from_ref(&other)),
            [other_only.clone(), None],
            "the first one has changed"
        );
        assert_eq!(broken(&[own, other]), [other_only, own_only]);
    }
}
