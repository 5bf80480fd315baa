use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{Checked, Errors, listeners, parse};

/// Largest file that is read: what is larger was given by mistake.
const LARGEST: u64 = 16 << 20;

/// Why a file could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its text has mistakes.
    #[error("{} has mistakes:\n{errors}", path.display())]
    Mistakes {
        /// The file.
        path: PathBuf,
        /// All of them.
        errors: Errors,
    },
    /// It can not be read, or it is no UTF-8 text.
    #[error("can not read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is larger than any configuration.
    #[error("{} is no configuration: it is larger than {} MiB", path.display(), LARGEST >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

/// Reads and checks the file at `path`.
///
/// # Errors
/// Those of the file system, and those of [`parse`].
pub fn load(path: &Path) -> Result<Checked, LoadError> {
    let text = text(path)?;
    parse(&text).map_err(|errors| LoadError::Mistakes {
        path: path.into(),
        errors,
    })
}

/// Reads and checks the file at `path` for this host: it has warnings about that too.
///
/// # Errors
/// Those of [`load`].
pub fn load_here(path: &Path) -> Result<Checked, LoadError> {
    let mut checked = load(path)?;
    let here = listeners::warnings_of_this_host(&checked.model);
    checked.warnings.extend(here);
    Ok(checked)
}

fn text(path: &Path) -> Result<String, LoadError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match read {
        Ok(length) if length as u64 > LARGEST => Err(LoadError::TooLarge { path: path.into() }),
        Ok(_) => Ok(text),
        Err(source) => Err(LoadError::Read {
            path: path.into(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn error(content: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let message = load(file.path()).unwrap_err().to_string();
        message.replace(&file.path().display().to_string(), "FILE")
    }

    #[test]
    fn what_is_no_configuration_is_refused_in_one_line() {
        assert_eq!(
            error(b"\xff\xfe"),
            "can not read FILE: stream did not contain valid UTF-8"
        );
        assert_eq!(
            load(Path::new("/nonexistent")).unwrap_err().to_string(),
            "can not read /nonexistent: No such file or directory (os error 2)"
        );
        assert_eq!(
            load(Path::new("/dev/zero")).unwrap_err().to_string(),
            "/dev/zero is no configuration: it is larger than 16 MiB"
        );
        assert_eq!(
            load(Path::new("/")).unwrap_err().to_string(),
            "can not read /: Is a directory (os error 21)"
        );
    }

    #[test]
    fn mistakes_come_with_the_file_s_name() {
        assert_eq!(
            error(b""),
            "FILE has mistakes:\nedge: is missing; add `[edge]` with `name` and `interfaces`"
        );
    }
}
