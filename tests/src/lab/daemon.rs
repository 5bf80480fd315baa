use std::{
    env, fs,
    fs::File,
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{ExitStatus, Stdio},
};

use nix::sys::signal::Signal;

use super::{
    bpffs::BpfFs,
    host::{Host, INTERFACE},
    process::{Outcome, Process, finish},
    scratch::Scratch,
    wait::{DEADLINE, wait_until},
};

/// The configuration of a daemon, less what the lab knows better: the edge's name, paths, and interface
/// unless other ones are given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<'a> {
    /// Further lines of the table `[edge]`.
    pub edge: &'a str,
    /// All other tables.
    pub rest: &'a str,
}

/// The real `waggle run` on an edge, with a BPF file system and a state directory of its own.
/// Dropping it kills it and removes its program.
#[derive(Debug)]
pub struct Daemon<'lab> {
    edge: &'lab Host,
    process: Option<Process>,
    bpffs: BpfFs,
    scratch: Scratch,
}

impl<'lab> Daemon<'lab> {
    /// Starts it and waits until its control socket answers.
    #[track_caller]
    pub fn start(edge: &'lab Host, settings: Settings<'_>) -> Self {
        let mut daemon = Self::prepare(edge, settings);
        daemon.restart();
        daemon
    }

    /// Everything that it needs, without the process.
    pub fn prepare(edge: &'lab Host, settings: Settings<'_>) -> Self {
        let scratch = Scratch::new();
        let daemon = Self {
            edge,
            process: None,
            bpffs: BpfFs::mount(&scratch),
            scratch,
        };
        daemon.configure(settings);
        daemon
    }

    /// Writes another configuration; the daemon does not know of it before `waggle reload`.
    pub fn configure(&self, settings: Settings<'_>) {
        let interfaces = match settings.edge.contains("interfaces = ") {
            true => String::new(),
            false => format!("interfaces = [\"{INTERFACE}\"]\n"),
        };
        let text = format!(
            "[edge]\nname = \"{}\"\n{interfaces}pin_dir = \"{}\"\n\
             state_dir = \"{}\"\ncontrol = \"{}\"\n{}\n{}",
            self.edge.name(),
            self.pins().display(),
            self.scratch.path("state").display(),
            self.control().display(),
            settings.edge,
            settings.rest,
        );
        fs::write(self.config(), text).expect("a place for the configuration");
    }

    /// Path of the configuration file.
    pub fn config(&self) -> PathBuf {
        self.scratch.path("waggle.toml")
    }

    /// Where program, link and maps are pinned.
    pub fn pins(&self) -> PathBuf {
        self.bpffs.path().join("waggle")
    }

    /// Path of the control socket.
    pub fn control(&self) -> PathBuf {
        self.scratch.path("control")
    }

    /// All that the daemon has logged, over its restarts.
    pub fn log(&self) -> String {
        fs::read_to_string(self.scratch.path("log")).unwrap_or_default()
    }

    /// Starts it, or kills it first, and waits until its control socket answers.
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill9();
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.scratch.path("log"))
            .expect("a place for the log");
        let mut command = self.edge.command(program("waggle"));
        command
            .arg("run")
            .arg("--config")
            .arg(self.config())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle on the log"))
            .stderr(log);
        let mut process = Process::spawn(&mut command);
        wait_until(DEADLINE, "the daemon's control socket", || {
            assert!(process.runs(), "the daemon ended:\n{}", self.log());
            UnixStream::connect(self.control()).is_ok()
        });
        self.process = Some(process);
    }

    /// Ends it as `kill -9` does.
    pub fn kill9(&mut self) {
        self.process = None;
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    #[track_caller]
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.take().map(|mut process| {
            process.signal(Signal::SIGTERM);
            process.wait()
        })
    }

    /// Runs `waggle` on the edge: the command and its arguments, and then `--control` with this
    /// daemon's socket.
    pub fn waggle(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.edge.command(program("waggle"));
        command.args(arguments).arg("--control").arg(self.control());
        finish(&mut command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }
}

/// The path of one of this workspace's programs: `$WAGGLE_BIN` for `waggle`, or else beside the
/// program that runs now.
///
/// # Panics
/// When it is not there.
#[track_caller]
pub fn program(name: &str) -> PathBuf {
    if let Some(path) = env::var_os("WAGGLE_BIN").filter(|_| name == "waggle") {
        return path.into();
    }
    let this = env::current_exe().expect("the path of this program");
    // A test stands in `deps`, one level below.
    this.ancestors()
        .skip(1)
        .take(2)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{name} is not built: run `cargo build --workspace`"))
}
