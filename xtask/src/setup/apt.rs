//! Debian packages.

use std::{fs, io, path::PathBuf, process::Command};

use crate::shell;

use super::{Failure, has_program};

/// Asked by Debian before a package starts a service; its exit status 101 means no.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Whether the package is installed and configured.
pub(super) fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status}", package]);
    shell::succeed_silently(&mut query).is_ok_and(|status| status == "installed")
}

/// Installs packages; the answer holds each that did not come.
pub(super) fn install(packages: &[&str]) -> Vec<Failure> {
    if packages.is_empty() {
        return Vec::new();
    }
    if !has_program("apt-get") {
        return fail(
            packages,
            "there is no apt-get: install it with this system's package manager",
        );
    }
    if !shell::is_root() {
        return fail(
            packages,
            "needs root: run `cargo xtask setup` as root, or install the package",
        );
    }
    for package in packages {
        println!("install  {package}");
    }
    // The lists may be old or not there at all. A source that is down need not be the one that counts.
    let update = ["update", "-o", "APT::Update::Error-Mode=any"];
    let updated = shell::succeed_silently(apt_get().args(update));
    let (known, unknown): (Vec<_>, Vec<_>) = packages.iter().partition(|package| is_known(package));
    let mut failures = fail(
        &unknown,
        &match &updated {
            Ok(_) => {
                "apt knows no such package: add a source that has it (Debian 12: bookworm-security)"
                    .to_owned()
            }
            Err(error) => format!("apt knows no such package, and {}", reason(error)),
        },
    );
    if !known.is_empty()
        && let Err(error) = install_known(&known)
    {
        let missing = known.into_iter().filter(|package| !is_installed(package));
        failures.extend(fail(&missing.collect::<Vec<_>>(), &reason(&error)));
    }
    failures
}

fn install_known(packages: &[&str]) -> anyhow::Result<()> {
    let _no_services = NoServices::begin(POLICY.into())?;
    let mut install = apt_get();
    install.args(["install", "--yes", "--no-install-recommends"]);
    shell::succeed_silently(install.args(packages))?;
    if packages.contains(&"nginx-light") {
        // The tests start their own; nobody asked for one at every boot.
        shell::succeed_silently(Command::new("update-rc.d").args(["nginx", "disable"]))?;
    }
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command
        .args(["-qq", "-o", "DPkg::Lock::Timeout=300"])
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_known(package: &str) -> bool {
    let mut show = Command::new("apt-cache");
    show.args(["show", "--no-all-versions", package]);
    shell::succeed_silently(&mut show).is_ok_and(|shown| !shown.is_empty())
}

fn fail(packages: &[&str], why: &str) -> Vec<Failure> {
    packages
        .iter()
        .map(|package| Failure {
            what: (*package).to_owned(),
            why: why.to_owned(),
        })
        .collect()
}

/// The errors among what apt said, in one line.
fn reason(error: &anyhow::Error) -> String {
    let said = format!("{error:#}");
    let errors = said.lines().filter(|line| line.contains("E: "));
    let line = errors.map(str::trim).collect::<Vec<_>>().join("; ");
    if line.is_empty() {
        said.replace('\n', "; ")
    } else {
        line
    }
}

/// While it lives, packages start no services.
#[derive(Debug)]
struct NoServices {
    /// The policy that this made and removes again; `None` under a policy of the system's own.
    made: Option<PathBuf>,
}

impl NoServices {
    const SCRIPT: &str = "#!/bin/sh\n# Made by `cargo xtask setup` for as long as it runs. Left behind? Remove it.\nexit 101\n";

    fn begin(policy: PathBuf) -> io::Result<Self> {
        use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};
        let create = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(&policy);
        match create {
            Ok(mut file) => file.write_all(Self::SCRIPT.as_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // One of ours that an interrupted run left behind is removed with this one.
                let is_ours = fs::read(&policy).is_ok_and(|text| text == Self::SCRIPT.as_bytes());
                return Ok(Self {
                    made: is_ours.then_some(policy),
                });
            }
            Err(error) => return Err(error),
        }
        Ok(Self { made: Some(policy) })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(policy) = &self.made
            && let Err(error) = fs::remove_file(policy)
        {
            eprintln!("xtask: remove {} by hand: {error}", policy.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_forbidden_only_while_packages_are_installed() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        let guard = NoServices::begin(policy.clone()).unwrap();
        let answer = Command::new(&policy).status().unwrap();
        assert_eq!(answer.code(), Some(101));
        drop(guard);
        assert!(!policy.exists());
    }

    #[test]
    fn a_policy_of_the_system_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        fs::write(&policy, "#!/bin/sh\nexit 0\n").unwrap();
        drop(NoServices::begin(policy.clone()).unwrap());
        assert_eq!(fs::read(&policy).unwrap(), b"#!/bin/sh\nexit 0\n");
    }

    #[test]
    fn a_policy_that_an_interrupted_run_left_behind_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        fs::write(&policy, NoServices::SCRIPT).unwrap();
        drop(NoServices::begin(policy.clone()).unwrap());
        assert!(!policy.exists());
    }

    #[test]
    fn the_reason_is_what_apt_calls_an_error() {
        let said = "`apt-get install x`: W: old lists\nE: Unable to fetch some archives\nE: Broken packages";
        assert_eq!(
            reason(&anyhow::Error::msg(said)),
            "E: Unable to fetch some archives; E: Broken packages"
        );
        assert_eq!(
            reason(&anyhow::Error::msg("`apt-get`: no\nluck")),
            "`apt-get`: no; luck"
        );
    }

    #[test]
    fn a_package_that_nobody_has_is_neither_installed_nor_known() {
        assert!(!is_installed("waggle-there-is-no-such-package"));
        assert!(!is_known("waggle-there-is-no-such-package"));
    }
}
