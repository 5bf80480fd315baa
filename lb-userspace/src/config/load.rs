use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use super::{Checked, authorities::Host, parse_on};
use crate::{
    refusal::{self, Refusal, Refused},
    whereabouts::Stamp,
};

/// Largest configuration that is read: what is larger was given by mistake.
const LARGEST: u64 = 16 << 20;

/// Largest file that is read of those that a configuration names: databases of all addresses have some
/// hundred MiB.
const LARGEST_NAMED: u64 = 1 << 30;

/// Reads and checks the file at `path`, and the files that it names.
///
/// # Errors
/// The file can not be read, or has the mistakes of which [`parse`](super::parse) tells.
pub fn load(path: &Path) -> Result<Checked, Refused> {
    let text = text(path)?;
    load_text(path, &text)
}

/// Checks `text` as that of the file at `path`, and reads the files that it names.
///
/// # Errors
/// The text has the mistakes of which [`parse`](super::parse) tells.
pub fn load_text(path: &Path, text: &str) -> Result<Checked, Refused> {
    let host = Host {
        directory: path.parent().unwrap_or(Path::new("")),
        read: &bytes,
        stamp: &stamp,
        trusted: &trusted,
    };
    parse_on(text, host).map_err(|errors| Refused::file(path, errors))
}

/// The text of the file at `path`.
///
/// # Errors
/// It is no file, or too large, or can not be read.
pub fn text(path: &Path) -> Result<String, Refusal> {
    let unread = |error: io::Error| refusal::file::unreadable_file(path.display(), error);
    // To open a pipe waits for a writer, and the daemon would wait with it.
    if !fs::metadata(path).map_err(unread)?.is_file() {
        return Err(refusal::file::no_regular_file(path.display()));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(unread)?;
    let length = file.take(LARGEST + 1).read_to_string(&mut text);
    if length.map_err(unread)? as u64 > LARGEST {
        return Err(refusal::file::huge_file(path.display(), LARGEST >> 20));
    }
    Ok(text)
}

/// The content of a file that the configuration names.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    let length = file.take(LARGEST_NAMED + 1).read_to_end(&mut bytes)?;
    if length as u64 > LARGEST_NAMED {
        let larger = format!("it is larger than {} MiB", LARGEST_NAMED >> 20);
        return Err(io::Error::other(larger));
    }
    Ok(bytes)
}

/// What the file at `path` is now; none if it can not be looked at.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        inode: metadata.ino(),
        size: metadata.len(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// The certificates of the authorities that the system trusts: on Debian those of the package
/// `ca-certificates`. What can not be read of them is left out, as other programs do.
fn trusted() -> Vec<Vec<u8>> {
    let certificates = rustls_native_certs::load_native_certs().certs;
    certificates.into_iter().map(|der| der.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use nix::sys::stat::Mode;

    use super::*;

    /// What is printed when a file can not be loaded.
    fn message(path: &Path) -> String {
        load(path).unwrap_err().to_string()
    }

    fn error(content: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        message(file.path()).replace(&file.path().display().to_string(), "FILE")
    }

    #[test]
    fn what_is_no_configuration_is_refused_in_one_line() {
        assert_eq!(
            error(b"\xff\xfe"),
            "error[unreadable-file]: can not read FILE: stream did not contain valid UTF-8; give the path of a text file that \
             this user may read"
        );
        assert_eq!(
            message(Path::new("/nonexistent")),
            "error[unreadable-file]: can not read /nonexistent: No such file or directory (os error 2); give the path of a \
             text file that this user may read"
        );
        let huge = tempfile::NamedTempFile::new().unwrap();
        huge.as_file().set_len(LARGEST + 1).unwrap();
        let message = message(huge.path());
        assert!(
            message.contains(" is no configuration: it is larger than 16 MiB;"),
            "{message}"
        );
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        for path in [&pipe, directory.path(), Path::new("/dev/null")] {
            let (sender, told) = mpsc::channel();
            let given = path.to_owned();
            thread::spawn(move || sender.send(message(&given)));
            let told = told.recv_timeout(Duration::from_secs(10));
            let expected = format!(
                "error[no-regular-file]: {} is no regular file; give the path of a file",
                path.display()
            );
            assert_eq!(told.expect("no waiting"), expected);
        }
    }

    #[test]
    fn files_that_a_configuration_names_are_beside_it_and_files() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        fs::create_dir(place("dir.csv")).unwrap();
        fs::write(place("good.csv"), "192.0.2.0/24,we,20\n").unwrap();
        fs::write(
            place("waggle.toml"),
            "latency = { files = [\"good.csv\", \"dir.csv\", \"gone.csv\"] }",
        )
        .unwrap();
        let Refused { errors, .. } = load(&place("waggle.toml")).unwrap_err();
        let found = errors.iter().filter(|it| it.code == "unreadable-data");
        let found: Vec<_> = found.map(|it| it.message.clone()).collect();
        let unread =
            |name: &str, why: &str| format!("can not read {}: {why}", place(name).display());
        assert_eq!(
            found,
            [
                unread("dir.csv", "it is no regular file"),
                unread("gone.csv", "No such file or directory (os error 2)"),
            ]
        );
    }

    #[test]
    fn a_stamp_tells_that_a_file_is_another_one() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        assert_eq!(stamp(&one), None);
        fs::write(&one, "a").unwrap();
        let before = stamp(&one);
        assert!(before.is_some() && stamp(&one) == before);
        fs::write(&other, "b").unwrap();
        fs::rename(&other, &one).unwrap();
        assert_ne!(stamp(&one), before);
    }

    #[test]
    fn mistakes_come_with_the_file_s_name() {
        assert_eq!(
            error(b""),
            "error: FILE has a mistake:\nerror[missing-key]: edge: is missing; add `[edge]` with `name` and \
             `interfaces`"
        );
    }
}
