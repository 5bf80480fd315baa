use std::{
    io::{self, Read as _},
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitStatus, Output},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::wait::{DEADLINE, wait_until};

/// A program that runs in the background, in a process group of its own. Dropping this kills the
/// group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Pid,
}

impl Process {
    /// Starts it.
    #[track_caller]
    pub fn spawn(command: &mut Command) -> Self {
        let child = command
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} did not start: {error}"));
        let group = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
        Self { child, group }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended yet.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal to the group.
    pub fn signal(&self, signal: Signal) {
        // The group may have ended by itself.
        let _ = killpg(self.group, signal);
    }

    /// Ends it as `kill -9` does.
    pub fn kill9(&mut self) {
        // A reaped child's id may already be another's.
        if self.runs() {
            self.signal(Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        wait_until(DEADLINE, "the end of a process", || !self.runs());
        self.child.wait().expect("the status of an ended child")
    }

    /// Waits for its end and returns what it wrote on its standard output, which must be piped.
    #[track_caller]
    pub(super) fn output(mut self) -> String {
        let mut text = String::new();
        let mut pipe = self.child.stdout.take().expect("a piped standard output");
        pipe.read_to_string(&mut text).expect("text");
        self.wait();
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill9();
    }
}

/// What a finished program said.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Exit status; `None` after a signal.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// Whether it ended with 0.
    pub fn ok(&self) -> bool {
        self.status == Some(0)
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            status: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// Runs `command` to its end and returns its standard output.
///
/// # Panics
/// When it fails, with all that it said.
#[track_caller]
pub(super) fn run(command: &mut Command) -> String {
    let outcome = finish(command).unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(outcome.ok(), "{command:?} failed: {outcome:?}");
    outcome.stdout
}

/// Runs `command` to its end.
pub(super) fn finish(command: &mut Command) -> io::Result<Outcome> {
    Ok(command.output()?.into())
}
