//! Running other programs.

use std::{
    env, fmt, fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, ExitCode, ExitStatus},
};

use anyhow::{Context as _, Result, bail, ensure};

/// The top of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The cargo that runs this, at the top of the workspace.
pub(crate) fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(workspace());
    command
}

/// Runs a command to its end, its output shown; the error is a [`Failed`].
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| line(command))?;
    if !status.success() {
        bail!(Failed {
            command: line(command),
            status
        });
    }
    Ok(())
}

/// Runs a command to its end without a word; the error repeats what it said.
pub(crate) fn succeed_silently(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| line(command))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "`{}`: {}",
        line(command),
        said.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether this process may do what only root may.
pub(crate) fn is_root() -> bool {
    // A process owns its own entry under its effective user.
    fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

/// An error with the mend unless this is root; `what` needs it.
pub(crate) fn require_root(what: &str) -> Result<()> {
    ensure!(
        is_root(),
        "{what} need root (namespaces, BPF programs): `sudo -E env PATH=\"$PATH\" cargo xtask ..`"
    );
    Ok(())
}

/// Says what went wrong, and passes on the exit status of a command that failed.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    eprintln!("xtask: {error:#}");
    error
        .downcast_ref::<Failed>()
        .and_then(|failed| u8::try_from(failed.status.code()?).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}

/// A command that ended with an error of its own.
#[derive(Debug)]
pub(crate) struct Failed {
    command: String,
    status: ExitStatus,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.command, self.status)
    }
}

impl std::error::Error for Failed {}

fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    [name]
        .into_iter()
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_exit_status_of_a_failed_command_is_passed_on() {
        let error = succeed(&mut sh("exit 7")).unwrap_err();
        assert_eq!(exit_code(&error), ExitCode::from(7));
        assert_eq!(error.to_string(), "`sh -c exit 7`: exit status: 7");
    }

    #[test]
    fn a_command_that_a_signal_ended_is_a_plain_failure() {
        let error = succeed(&mut sh("kill -TERM $$")).unwrap_err();
        assert_eq!(exit_code(&error), ExitCode::FAILURE);
    }

    #[test]
    fn a_silent_failure_tells_what_the_command_said() {
        let error = succeed_silently(&mut sh("echo no room >&2; exit 1")).unwrap_err();
        assert!(error.to_string().ends_with(": no room"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = succeed(&mut Command::new("/nowhere/to-be-found")).unwrap_err();
        assert!(
            format!("{error:#}").starts_with("to-be-found: "),
            "{error:#}"
        );
    }
}
