//! What building and testing need, and how it is seen to be there.

use std::{
    env,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use super::{apt, linker, toolchain};

/// One thing that must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A component of the Rust toolchain, known by a file below its root.
    Component {
        name: &'static str,
        file: &'static str,
    },
    /// The linker for BPF objects.
    Linker,
    /// A Debian package that brings no program.
    Library(&'static str),
    /// A program, and the Debian package that brings it.
    Program {
        name: &'static str,
        package: &'static str,
    },
}

const COMPONENTS: [Need; 3] = [
    component("rust-src", "lib/rustlib/src/rust/library/core/src/lib.rs"),
    component("rustfmt", "bin/rustfmt"),
    component("clippy", "bin/cargo-clippy"),
];

/// Peers and tools of the tests.
const PROGRAMS: [Need; 10] = [
    program("curl", "curl"),
    program("ethtool", "ethtool"),
    program("ip", "iproute2"),
    program("iperf3", "iperf3"),
    program("nginx", "nginx-light"),
    program("nsenter", "util-linux"),
    program("ping", "iputils-ping"),
    program("sysctl", "procps"),
    program("traceroute", "traceroute"),
    program("wrk", "wrk"),
];

/// Everything, in the order in which it can be installed.
pub(super) fn all() -> Vec<Need> {
    let mut needs = COMPONENTS.to_vec();
    // A linker that runs needs none of what it was built with.
    if !Need::Linker.is_met() {
        needs.extend(linker::LIBRARIES.map(Need::Library));
    }
    needs.push(Need::Linker);
    needs.extend(PROGRAMS);
    needs
}

/// What nothing builds without.
pub(super) fn to_build() -> [Need; 2] {
    [COMPONENTS[0], Need::Linker]
}

impl Need {
    pub(super) fn is_met(&self) -> bool {
        match self {
            Self::Component { file, .. } => {
                toolchain::root().is_some_and(|root| root.join(file).exists())
            }
            Self::Linker => linker::is_there(),
            Self::Library(package) => apt::is_installed(package),
            Self::Program { name, .. } => find_program(name).is_some(),
        }
    }

    pub(super) fn component(&self) -> Option<&'static str> {
        match self {
            Self::Component { name, .. } => Some(name),
            Self::Linker | Self::Library(_) | Self::Program { .. } => None,
        }
    }

    pub(super) fn package(&self) -> Option<&'static str> {
        match self {
            Self::Library(package) | Self::Program { package, .. } => Some(package),
            Self::Component { .. } | Self::Linker => None,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component { name, .. } => f.write_str(name),
            Self::Linker => write!(f, "bpf-linker {}", linker::VERSION),
            Self::Library(package) => f.write_str(package),
            Self::Program { name, package } if name == package => f.write_str(name),
            Self::Program { name, package } => write!(f, "{name} ({package})"),
        }
    }
}

/// Where a program lies; also where a user's `PATH` often does not look.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    find_in(&path, name).or_else(|| find_in(OsStr::new("/usr/sbin:/sbin"), name))
}

fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

const fn component(name: &'static str, file: &'static str) -> Need {
    Need::Component { name, file }
}

const fn program(name: &'static str, package: &'static str) -> Need {
    Need::Program { name, package }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn a_program_is_an_executable_file_in_one_of_the_folders() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = env::join_paths([first.path(), second.path()]).unwrap();
        fs::create_dir(first.path().join("tool")).unwrap();
        let file = second.path().join("tool");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(find_in(&path, "tool"), None, "a folder and a plain file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_in(&path, "tool"), Some(file));
        assert_eq!(find_in(&path, "another"), None);
    }

    #[test]
    fn every_need_comes_from_exactly_one_place() {
        for need in all() {
            let places = [
                need.component().is_some(),
                need.package().is_some(),
                need == Need::Linker,
            ];
            assert_eq!(places.iter().filter(|place| **place).count(), 1, "{need}");
        }
    }
}
