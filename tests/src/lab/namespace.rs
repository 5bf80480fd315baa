use std::{
    fs::{self, File},
    io::Write as _,
    panic,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use nix::{
    sched::{CloneFlags, setns},
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{
    left_over,
    process::{Outcome, finish, run},
};

const DIRECTORY: &str = "/run/netns";

/// A network namespace. It is gone when this is dropped.
///
/// It is entered by the network alone: `ip netns exec` would mount another `/sys`, in which pins
/// on a BPF file system vanish.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// A new one with this name, its loopback up.
    pub(super) fn new(name: &str) -> Self {
        run(Command::new("ip").args(["netns", "add", name]));
        let namespace = Self {
            name: name.to_owned(),
        };
        namespace.ip(&["link set lo up"]);
        namespace
    }

    /// What `ip netns` calls it.
    pub(super) fn file_name(&self) -> &str {
        &self.name
    }

    /// Where it is mounted.
    pub fn path(&self) -> PathBuf {
        Path::new(DIRECTORY).join(&self.name)
    }

    /// Runs `work` on a thread that is in the namespace, and so are the sockets that it opens
    /// and the threads that it starts.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let path = self.path();
        let entered = move || {
            let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            setns(file, CloneFlags::CLONE_NEWNET)
                .unwrap_or_else(|e| panic!("{} can not be entered: {e}", path.display()));
            work()
        };
        thread::scope(|scope| scope.spawn(entered).join())
            .unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    /// Ids of the processes that run in it.
    pub fn processes(&self) -> Vec<i32> {
        processes(&self.name)
    }

    /// A command that will run in the namespace.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net={}", self.path().display()))
            .arg(program.as_ref());
        command
    }

    /// Runs a command line, split at blanks, and returns its standard output.
    ///
    /// # Panics
    /// When it fails, with all that it said.
    #[track_caller]
    pub fn run(&self, line: &str) -> String {
        run(&mut self.split(line))
    }

    /// Runs a command line, split at blanks, that may fail.
    pub fn outcome(&self, line: &str) -> Outcome {
        finish(&mut self.split(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Runs several `ip` commands at once.
    #[track_caller]
    pub fn ip(&self, lines: &[&str]) {
        let mut child = self
            .command("ip")
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("nsenter starts");
        let mut input = child.stdin.take().expect("a pipe");
        input
            .write_all((lines.join("\n") + "\n").as_bytes())
            .expect("ip reads its commands");
        drop(input);
        let output = child.wait_with_output().expect("ip ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{lines:#?} failed: {said}");
    }

    /// Sets values under `/proc/sys/net`.
    #[track_caller]
    pub fn sysctl(&self, values: &[(&str, &str)]) {
        self.enter(|| {
            for (key, value) in values {
                let path = Path::new("/proc/sys/net").join(key);
                fs::write(&path, value).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            }
        });
    }

    fn split(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().expect("a command"));
        command.args(words);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Removes the namespaces of processes that are gone, with all that still runs in them.
pub(super) fn sweep() {
    let Ok(entries) = fs::read_dir(DIRECTORY) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !left_over(&name) {
            continue;
        }
        for pid in processes(&name) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        remove(&name);
    }
}

fn processes(name: &str) -> Vec<i32> {
    let outcome = finish(Command::new("ip").args(["netns", "pids", name]));
    outcome.map_or_else(
        |_| Vec::new(),
        |pids| pids.stdout.lines().flat_map(str::parse).collect(),
    )
}

fn remove(name: &str) {
    let outcome = finish(Command::new("ip").args(["netns", "del", name]));
    if !outcome.as_ref().is_ok_and(Outcome::ok) {
        eprintln!("the namespace {name} was not removed: {outcome:?}");
    }
}
